// How the suite itself asks the services, as the users of a cloud do.

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: what services answer is looked into, not modelled.
  readonly body: any;
}

export interface Client {
  /** @throws unless the answer is a success */
  ask(method: string, path: string, body?: unknown): Promise<Reply>;
  /** Whatever it answers. */
  try(method: string, path: string, body?: unknown): Promise<Reply>;
  /** With other headers beside. */
  with(headers: Readonly<Record<string, string>>): Client;
}

export function restClient(base: string, headers: Readonly<Record<string, string>>): Client {
  const client: Client = {
    try: (method, path, body) => send(method, `${base}${path}`, headers, body),
    ask: async (method, path, body) => {
      const reply = await client.try(method, path, body);
      const { status } = reply;
      const said = JSON.stringify(reply.body);
      assert.ok(status < 300, `${method} ${base}${path} answered ${status}: ${said}`);
      return reply;
    },
    with: (more) => restClient(base, { ...headers, ...more }),
  };
  return client;
}

async function send(
  method: string,
  url: string,
  headers: Readonly<Record<string, string>>,
  body: unknown,
): Promise<Reply> {
  const isBytes = body instanceof Uint8Array;
  const type = isBytes ? 'application/octet-stream' : 'application/json';
  const response = await fetch(url, {
    method,
    headers: { ...headers, ...(body !== undefined && { 'Content-Type': type }) },
    ...(body !== undefined && {
      body: isBytes ? (body as Uint8Array<ArrayBuffer>) : JSON.stringify(body),
    }),
    signal: AbortSignal.timeout(60_000),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: parsed(text) };
}

function parsed(text: string): unknown {
  try {
    return text === '' ? undefined : JSON.parse(text);
  } catch {
    return text;
  }
}

/** The first value that holds. @throws with the last one, after a while */
export async function eventually<T>(
  read: () => Promise<T>,
  holds: (value: T) => boolean,
  withinSeconds = 60,
): Promise<T> {
  const until = performance.now() + withinSeconds * 1000;
  for (;;) {
    const value = await read();
    if (holds(value)) return value;
    assert.ok(
      performance.now() < until,
      `It did not come to pass in ${withinSeconds} s; last: ${JSON.stringify(value)}`,
    );
    await sleep(100);
  }
}
