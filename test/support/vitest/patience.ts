/**
 * The timeout of waits. A wait ends as soon as its condition holds, so the timeout measures
 * nothing: it must suffice on a machine where everything takes thirty times as long.
 */
export const patience = { timeout: 120_000, interval: 20 } as const;
