/** The name of the simulated stage, and the time at which each scenario begins. */
export const stage = 'sim';
export const startMs = Date.parse('2026-07-01T00:00:00Z');
