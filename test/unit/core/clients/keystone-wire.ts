// A Keystone behind a service that records each request, and that a test may have answer it.

import {
  createKeystone,
  type Keystone,
  type KeystoneOptions,
} from '#core/clients/openstack/keystone/keystone.ts';
import { silentLog } from '#core/log.ts';
import type { Answer, Ask } from '#local/openstack/http-service.ts';
import { serviceCredentials, startKeystone } from '#local/openstack/keystone/keystone.ts';
import { aService, passOn } from './service-double.ts';

export const start = Date.UTC(2026, 0, 1);

export async function startWire() {
  const endpoints = { placement: 'http://placement.test/', compute: 'http://nova.test/v2.1' };
  const options = { host: '127.0.0.1', port: 0, endpoints };
  const cloud = await startKeystone({ ...options, clock: () => wire.now });
  const double = await aService(
    (asked) => wire.interfere?.(asked) ?? passOn(asked, cloud.url.replace(/\/v3$/, '')),
  );
  const credentials = () => serviceCredentials('cyborg', `${double.url}/v3`);
  const wire = {
    ...double,
    cloud,
    credentials,
    now: start,
    /** Answers in place of Keystone. */
    interfere: undefined as ((asked: Ask) => Answer | Promise<Answer> | undefined) | undefined,
    keystone: (given: Partial<KeystoneOptions> = {}) =>
      createKeystone({ settings: credentials(), clock: () => wire.now, log: silentLog, ...given }),
    validations: () => double.asked.filter(isValidation).length,
    revoke: async (token: string) => {
      const headers = { 'X-Auth-Token': 'admin-token', 'X-Subject-Token': token };
      await fetch(`${cloud.url}/auth/tokens`, { method: 'DELETE', headers });
    },
    stop: async () => {
      await double.stop();
      await cloud.stop();
    },
  };
  return wire;
}

export function ask(us: Keystone, token: string) {
  return us.validateToken(token, { allowExpired: false });
}

export function isValidation({ method, path }: Ask): boolean {
  return method === 'GET' && path === '/v3/auth/tokens';
}
