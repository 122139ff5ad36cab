// The suite's own requests to the services, as users of the cloud send them.

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseJson } from '#core/shapes/derive/parse-json.ts';
import { runSeconds } from '#local/demo/stillness.ts';

interface Named {
  readonly id: string;
  readonly name: string;
}

interface Service {
  readonly id: string;
  readonly host: string;
  readonly zone: string;
  readonly updated_at: string;
}

interface Provider {
  readonly uuid: string;
  readonly name: string;
  readonly parent_provider_uuid: string | null;
  readonly generation: number;
}

interface Server extends Named {
  readonly status: string;
  readonly 'OS-EXT-STS:task_state': string | null;
  readonly 'OS-EXT-SRV-ATTR:host': string | null;
  readonly fault?: { readonly message: string };
}

export interface Arq {
  readonly uuid: string;
  readonly state: string;
  readonly hostname: string;
  readonly device_rp_uuid: string;
  readonly attach_handle_type: string;
  readonly attach_handle_uuid: string;
  readonly attach_handle_info: Readonly<Record<string, string>>;
}

interface Lease {
  readonly id: string;
  readonly status: string;
  readonly reservations: readonly { readonly id: string }[];
}

interface Port {
  readonly id: string;
  readonly device_id: string;
  readonly 'binding:host_id': string;
  readonly 'binding:vif_type': string;
  readonly 'binding:profile': Readonly<Record<string, string>>;
}

interface Device {
  readonly uuid: string;
  readonly created_at: string;
  readonly type: string;
  readonly model: string;
  /** Only a host's own answer has it. */
  readonly address: string;
  readonly driver: string;
  readonly handles: Readonly<Record<string, number>>;
}

/**
 * The fields of the services' answers that the suite reads. Each answer has some of them, and a
 * collection may be empty: a scenario that reads a missing field fails.
 */
export interface Body {
  readonly uuid: string;
  readonly id: string;
  readonly error: string;
  readonly error_message: string;
  readonly boot_id: string;
  readonly state: string;
  readonly generation: number;
  readonly total: number;
  readonly reserved: number;
  readonly traits: readonly string[];
  readonly inventories: Readonly<Record<string, { total: number; reserved: number }>>;
  readonly resource_providers: readonly [Provider, ...Provider[]];
  readonly allocations: Readonly<Record<string, { readonly resources: Record<string, number> }>>;
  readonly allocation_requests: readonly { readonly allocations: object }[];
  readonly server: Server;
  readonly servers: readonly Server[];
  readonly instanceActions: readonly { readonly message: string | null }[];
  readonly instanceAction: { readonly events: readonly { readonly result: string | null }[] };
  readonly flavors: readonly Named[];
  readonly hypervisors: readonly object[];
  readonly services: readonly Service[];
  readonly endpoints: readonly { readonly id: string; readonly url: string }[];
  readonly users: readonly Named[];
  readonly server_group: { readonly id: string };
  readonly aggregate: { readonly id: number };
  readonly aggregates: readonly object[];
  readonly hosts: readonly { readonly hostname: string }[];
  readonly images: readonly [Named, ...Named[]];
  readonly project: Named;
  readonly user: Named;
  readonly role: Named;
  readonly domain: Named;
  readonly trust: { readonly id: string };
  readonly application_credential: { readonly id: string; readonly secret: string };
  readonly service: Named;
  readonly endpoint: Named;
  readonly projects: readonly [Named, ...Named[]];
  readonly roles: readonly Named[];
  readonly network: Named;
  readonly networks: readonly [Named, ...Named[]];
  readonly port: Port;
  readonly lease: Lease;
  readonly arqs: readonly Arq[];
  readonly devices: readonly Device[];
  readonly history: readonly { readonly evidence: object | null }[];
  readonly incidents: readonly { readonly hostname?: string; readonly reason: string }[];
}

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Body;
}

export interface Client {
  /** @throws Error unless the answer is a success */
  ask(method: string, path: string, body?: unknown): Promise<Reply>;
  /** Returns the answer, whatever its status. */
  try(method: string, path: string, body?: unknown): Promise<Reply>;
  /** Returns a client with additional headers. */
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
    // Nova's API itself waits a minute for an answer of nova-compute before it goes on without.
    signal: AbortSignal.timeout(300_000),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: parsed(text) as Body };
}

function parsed(text: string): unknown {
  const value = parseJson(text);
  return value === undefined && text !== '' ? text : value;
}

/** Returns the first value that holds. @throws Error with the last value after a timeout */
export async function eventually<T>(
  read: () => Promise<T>,
  holds: (value: T) => boolean,
  withinSeconds = 60,
): Promise<T> {
  const until = runSeconds() + withinSeconds;
  for (;;) {
    const value = await read();
    if (holds(value)) return value;
    assert.ok(
      runSeconds() < until,
      `The condition did not hold within ${withinSeconds} s; last: ${JSON.stringify(value)}`,
    );
    await sleep(100);
  }
}
