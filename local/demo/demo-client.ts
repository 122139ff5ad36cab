// The HTTP client of the demo, and its waits for results.

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { noteProgress, startWait, stillSecondsMax } from './stillness.ts';

export type Client = ReturnType<typeof client>;

/** Calls as a user does. The user's token comes with Nova's service token, as from Nova. */
export function client(base: string) {
  async function ask<T>(method: string, path: string, token: string, body?: unknown): Promise<T> {
    const response = await fetch(`${base}${path}`, {
      method,
      headers: {
        'X-Auth-Token': token,
        'X-Service-Token': 'nova-token',
        'OpenStack-API-Version': 'placement 1.36',
        ...(base.includes('/accelerator') && { 'OpenStack-API-Version': 'accelerator 2.0' }),
        ...(base.includes('/v2.1') && { 'OpenStack-API-Version': 'compute 2.82' }),
        ...(body !== undefined && { 'Content-Type': contentType(body) }),
      },
      ...(body !== undefined && { body: isBytes(body) ? body : JSON.stringify(body) }),
      signal: AbortSignal.timeout(stillSecondsMax * 1000),
    });
    const text = await response.text();
    assert.ok(response.ok, `${method} ${path} answered ${response.status}: ${text}`);
    return (text === '' ? undefined : JSON.parse(text)) as T;
  }
  return {
    get: <T>(path: string, token: string) => ask<T>('GET', path, token),
    post: <T>(path: string, token: string, body: unknown) => ask<T>('POST', path, token, body),
    put: (path: string, token: string, body: unknown) => ask<void>('PUT', path, token, body),
    patch: (path: string, token: string, body: unknown) => ask<void>('PATCH', path, token, body),
    delete: (path: string, token: string) => ask<void>('DELETE', path, token),
  };
}

/**
 * Returns the first value that holds. Waits as long as the values change or progress is noted.
 *
 * @param what completes the message "Waited for"
 * @throws Error with the message and the last value
 */
export async function waitFor<T>(
  what: string,
  read: () => Promise<T>,
  holds: (value: T) => boolean,
): Promise<T> {
  const isOver = startWait();
  for (let last: string | undefined; ; ) {
    const value = await read();
    if (holds(value)) return value;
    const seen = JSON.stringify(value);
    if (seen !== last) noteProgress();
    last = seen;
    assert.ok(!isOver(), `Waited for ${what}; no change for ${stillSecondsMax} s. Last: ${seen}`);
    await sleep(20);
  }
}

function isBytes(body: unknown): body is Uint8Array<ArrayBuffer> {
  return body instanceof Uint8Array;
}

function contentType(body: unknown): string {
  return isBytes(body) ? 'application/octet-stream' : 'application/json';
}
