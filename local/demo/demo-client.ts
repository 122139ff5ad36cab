// How the demo asks the services, and waits for what they do.

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';

/** How long nothing may move. How long a step takes while something does is the machine's affair. */
const stillSecondsMax = 120;

let movedAt = performance.now();

/** Tells those who wait that the system is at work: a part has said something, for instance. */
export function noteProgress(): void {
  movedAt = performance.now();
}

export type Client = ReturnType<typeof client>;

/** Asks as a user would; Nova's own token comes along, as it does from Nova. */
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
 * The first value that holds. Waits for as long as the values change or progress is noted.
 *
 * @param what is waited for, as it follows "Waited for"
 * @throws Error with that and the last value
 */
export async function eventually<T>(
  what: string,
  read: () => Promise<T>,
  holds: (value: T) => boolean,
): Promise<T> {
  noteProgress();
  for (let last: string | undefined; ; ) {
    const value = await read();
    if (holds(value)) return value;
    const seen = JSON.stringify(value);
    if (seen !== last) noteProgress();
    last = seen;
    const stillSeconds = (performance.now() - movedAt) / 1000;
    assert.ok(
      stillSeconds < stillSecondsMax,
      `Waited for ${what}; nothing has moved for ${stillSecondsMax} s. Last: ${seen}`,
    );
    await sleep(20);
  }
}

function isBytes(body: unknown): body is Uint8Array<ArrayBuffer> {
  return body instanceof Uint8Array;
}

function contentType(body: unknown): string {
  return isBytes(body) ? 'application/octet-stream' : 'application/json';
}
