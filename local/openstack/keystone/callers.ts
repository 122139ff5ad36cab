// Authenticates the callers of a fake service, as keystonemiddleware does: it asks Keystone with
// the service's own token, and answers requests without a valid token itself.

import {
  createKeystone,
  type Keystone,
  type TokenIdentity,
} from '#core/clients/openstack/keystone/keystone.ts';
import { silentLog } from '#core/log.ts';
import { type Answer, type Ask, header } from '#local/openstack/http-service.ts';
import { serviceCredentials } from './keystone.ts';

export interface Callers {
  /** The middleware's answer for an invalid token, or while Keystone does not answer. */
  identify(ask: Ask): Promise<{ caller: TokenIdentity } | { answer: Answer }>;
  /** The service's own client of Keystone. */
  readonly keystone: Keystone;
}

export function createCallers(user: 'nova' | 'placement' | 'glance', keystoneUrl: string): Callers {
  const settings = serviceCredentials(user, keystoneUrl);
  const keystone = createKeystone({ settings, clock: Date.now, log: silentLog });

  async function isService(token: string | undefined): Promise<boolean> {
    if (token === undefined) return false;
    const identity = await keystone.validateToken(token, { allowExpired: false });
    return identity?.roles.includes('service') === true;
  }

  return {
    keystone: keystone,
    identify: async (ask) => {
      try {
        const allowExpired = await isService(header(ask, 'X-Service-Token'));
        const token = header(ask, 'X-Auth-Token') ?? '';
        const caller = await keystone.validateToken(token, { allowExpired });
        return caller ? { caller } : { answer: unauthorized(keystoneUrl) };
      } catch (error) {
        const message = `The Keystone service is temporarily unavailable: ${error}`;
        return { answer: fault(503, 'Service Unavailable', message) };
      }
    },
  };
}

function unauthorized(keystoneUrl: string): Answer {
  const message = 'The request you have made requires authentication.';
  const headers = { 'WWW-Authenticate': `Keystone uri="${keystoneUrl}"` };
  return { ...fault(401, 'Unauthorized', message), headers };
}

function fault(code: number, title: string, message: string): Answer {
  return { status: code, body: { error: { code, title, message } } };
}
