import type { CallName } from './nova-cycle.ts';

/**
 * Medians in milliseconds of Cyborg 9.0.0 (Zed) with an empty database: two API processes in uwsgi,
 * conductor, agent with the fake driver, MariaDB, RabbitMQ, Keystone and Nova on one host over
 * loopback, one call at a time. Another machine than yours: take the ratio as a magnitude.
 */
export const upstreamMedians: Readonly<Record<CallName, number>> = {
  'GET profile': 8.9,
  POST: 17.5,
  PATCH: 565,
  'GET ?instance=': 12.5,
  'DELETE ?instance=': 29.5,
};
