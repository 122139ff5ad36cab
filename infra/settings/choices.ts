// Settings that are one of a few words.

export const logLevels = ['DEBUG', 'INFO', 'WARN', 'ERROR'] as const;
export type LogLevel = (typeof logLevels)[number];

export const alarmActions = ['all', 'page'] as const;
/** Which alarms are sent: all, or those of the severity `page`. */
export type AlarmActions = (typeof alarmActions)[number];

export const shiftings = ['canary', 'linear', 'all-at-once'] as const;
/**
 * How a new version of the functions of Nova's path takes over: a tenth of the requests for ten
 * minutes, a tenth more each minute, or all at once.
 */
export type Shifting = (typeof shiftings)[number];
