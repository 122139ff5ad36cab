// Structured logs: one JSON object a line. What a line is about (request, ARQ, instance, host) is
// given to a child logger once and is then on every line that follows.

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
  return wrap(new Logger({ serviceName: service }));
}

function wrap(logger: Logger): Log {
  return {
    debug: (message, fields = {}) => logger.debug(message, fields),
    info: (message, fields = {}) => logger.info(message, fields),
    warn: (message, fields = {}) => logger.warn(message, fields),
    error: (message, fields = {}) => logger.error(message, fields),
    child: (fields) => wrap(logger.createChild({ persistentKeys: fields })),
  };
}

/** Says nothing; for tests and for tools that print for people. */
export const silentLog: Log = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  child: () => silentLog,
};
