/**
 * For waits: they end as soon as the awaited is there, so how long at most is no measure of anything. On
 * a machine where everything takes thirty times as long it must still be long enough.
 */
export const patience = { timeout: 120_000, interval: 20 } as const;
