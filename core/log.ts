// Structured logs: one JSON object per line. A child logger adds the subject (request, ARQ,
// instance, host) to each of its lines.

import { Logger } from '@aws-lambda-powertools/logger';

export type LogFields = Readonly<Record<string, unknown>>;

export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** A logger that adds these fields to each of its lines. */
  child(fields: LogFields): Log;
}

export function createLog(service: string): Log {
  return logWith(new Logger({ serviceName: service }), {});
}

// Fields are merged here: a child of the underlying logger costs as much as six lines.
function logWith(logger: Logger, fixed: LogFields): Log {
  return {
    debug: (message, fields) => logger.debug(message, { ...fixed, ...fields }),
    info: (message, fields) => logger.info(message, { ...fixed, ...fields }),
    warn: (message, fields) => logger.warn(message, { ...fixed, ...fields }),
    error: (message, fields) => logger.error(message, { ...fixed, ...fields }),
    child: (fields) => logWith(logger, { ...fixed, ...fields }),
  };
}

/** Logs nothing; for tests and for tools that print for people. */
export const silentLog: Log = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  child: () => silentLog,
};
