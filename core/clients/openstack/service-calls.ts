// Calls to a service of the catalog with our own token. If a service refuses the token
// (Keystone's keys were rotated, or the token was revoked), the call is repeated once with a new
// token.

import {
  type Http,
  type HttpAnswer,
  type HttpRequest,
  type Method,
  ServiceUnavailable,
} from '#core/clients/http.ts';
import { present } from '#core/shapes/derive/present.ts';

/** Our own token and the endpoints of other services; {@link createKeystone} creates it. */
export interface ServiceIdentity {
  /** @param withinMs how long a login may take, where one is needed */
  ownToken(withinMs?: number): Promise<string>;
  /** A service refused this token; the next {@link ownToken} is another one. */
  dropOwnToken(refused: string): void;
  endpoint(serviceType: string): Promise<string>;
  /** The service is away at its endpoint: the next call may read the catalog again. */
  noteAway(serviceType: string): void;
}

export interface ServiceCall {
  readonly request: HttpRequest;
  readonly answer: HttpAnswer;
}

/**
 * How often a call takes another token when Keystone refuses ours: first the one that another
 * container has stored, which may have ended with ours when the password changed, then a new one.
 */
export const renewalsMax = 2;

/**
 * Service type → how a registered URL ends, and what follows its root in our calls. Glance's paths
 * have their version.
 */
const roots: Readonly<Record<string, readonly [registered: RegExp, called: string]>> = {
  compute: [/\/v2(\.\d+)?(\/(AUTH_)?[0-9a-f-]{16,36})?$/i, '/v2.1'],
  image: [/\/v\d+(\.\d+)?$/, ''],
};

/**
 * The URL to which paths are added. A catalog has Nova and Glance with any version or none, and
 * Nova also with a project: the clients of OpenStack ask the root which versions it has.
 */
export function callableUrl(serviceType: string, registered: string): string {
  const url = registered.replace(/\/+$/, '');
  const root = roots[serviceType];
  return root ? url.replace(root[0], '') + root[1] : url;
}

export type CallService = (
  method: Method,
  path: string,
  body?: unknown,
  timeoutMs?: number,
) => Promise<ServiceCall>;

export function createServiceCalls(
  http: Http,
  identity: ServiceIdentity,
  service: { readonly type: string; readonly headers: Readonly<Record<string, string>> },
): CallService {
  return async (method, path, body, timeoutMs) => {
    const url = `${await identity.endpoint(service.type)}${path}`;
    const send = async (token: string): Promise<ServiceCall> => {
      const headers = { ...service.headers, 'X-Auth-Token': token };
      const request: HttpRequest = {
        service: service.type,
        method,
        url,
        headers,
        body,
        ...present({ timeoutMs }),
      };
      try {
        return { request, answer: await http(request) };
      } catch (error) {
        if (error instanceof ServiceUnavailable) identity.noteAway(service.type);
        throw error;
      }
    };
    let token = await identity.ownToken();
    let call = await send(token);
    for (let renewals = 0; call.answer.status === 401 && renewals < renewalsMax; renewals += 1) {
      identity.dropOwnToken(token);
      token = await identity.ownToken();
      call = await send(token);
    }
    return call;
  };
}
