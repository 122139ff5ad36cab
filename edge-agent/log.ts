// One JSON object per line on stdout, which journald keeps unchanged. Text from devices is
// escaped, so that hardware cannot forge log lines or act on the terminal that shows them.

export type LogFields = Readonly<Record<string, unknown>>;

export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

export const logLevels = ['debug', 'info', 'warn', 'error'] as const;
type LogLevel = (typeof logLevels)[number];

export function createLog(least: LogLevel, write: (line: string) => void): Log {
  const at =
    (level: LogLevel) =>
    (message: string, fields: LogFields = {}) => {
      if (logLevels.indexOf(level) < logLevels.indexOf(least)) return;
      const line = JSON.stringify({ time: new Date().toISOString(), level, message, ...fields });
      write(`${line.replaceAll(/[^\x20-\x7e]/g, escaped)}\n`);
    };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

/** The same text for a program that reads the JSON. */
function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** The reason to log for a caught value, which may not be an Error. */
export function reasonOf(error: unknown): string {
  try {
    return String(error instanceof Error ? error.message : error);
  } catch {
    // A driver may throw an object that has no text.
    return 'an unknown error';
  }
}
