// Keystone's own API, as the verbs ask it in the operator's name.

import type * as z from 'zod';
import { type Http, type HttpAnswer, type Method, readBody } from '#core/clients/http.ts';
import { present } from '#core/shapes/derive/present.ts';
import { CommandFailed, exitCodes } from '#operate/ops/verb.ts';
import { toIdentityUrl } from './sign-in.ts';

export interface Keystone {
  /**
   * @param doing what the request is for, after "may not" and "refuses to": `list services`
   * @throws CommandFailed, ServiceUnavailable
   */
  ask<T>(request: KeystoneRequest<T>): Promise<T>;
}

interface KeystoneRequest<T> {
  readonly method: Method;
  readonly path: string;
  readonly doing: string;
  readonly schema: z.ZodType<T>;
  readonly body?: unknown;
  /** Never repeated, also where Keystone's sentence has it. */
  readonly secret?: string;
}

export function createKeystone(
  http: Http,
  authUrl: string,
  { token }: { readonly token: string },
): Keystone {
  const root = toIdentityUrl(authUrl);
  return {
    async ask({ method, path, doing, schema, body, secret }) {
      const request = {
        service: 'identity',
        method,
        url: `${root}${path}`,
        headers: { 'X-Auth-Token': token },
        ...present({ body }),
      };
      const answer = await http(request);
      if (answer.status >= 300) throw refusal(authUrl, doing, answer, secret);
      return readBody(schema, request, answer);
    },
  };
}

function refusal(authUrl: string, doing: string, { status, body }: HttpAnswer, secret?: string) {
  const at = `Keystone at ${authUrl}`;
  if (status === 401 || status === 403) {
    const fault = `${at} does not allow this user to ${doing} (${status})`;
    const how =
      'sign in with the role admin in a project such as admin, or with OS_SYSTEM_SCOPE=all';
    return new CommandFailed(exitCodes.notAllowed, `${fault}: ${how}.`);
  }
  if (status === 409) {
    const fault = `${at} refuses to ${doing} (409): it exists already`;
    return new CommandFailed(exitCodes.failed, `${fault}, made meanwhile; run the command again.`);
  }
  const why = readSentence(body);
  const sentence = secret ? why?.replaceAll(secret, '…') : why;
  return new CommandFailed(
    exitCodes.failed,
    `${at} refuses to ${doing} (${status})${sentence ? `: ${sentence}` : '.'}`,
  );
}

/** Keystone's own form only: a proxy's page may hold what was sent. */
function readSentence(body: unknown): string | undefined {
  if (typeof body !== 'object' || body === null || !('error' in body)) return undefined;
  const { error } = body;
  if (typeof error !== 'object' || error === null || !('message' in error)) return undefined;
  return typeof error.message === 'string' ? error.message : undefined;
}
