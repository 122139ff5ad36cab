// A client for Nova: sends external events, and reads the project and the host of a server.

import * as z from 'zod';
import { expectStatus, type Http, readBody, saysAbsent } from '#core/clients/http.ts';
import { createServiceCalls, type ServiceIdentity } from './service-calls.ts';

// 2.82 brought `accelerator-request-bound`; below it the schema refuses the name.
// https://docs.openstack.org/nova/latest/reference/api-microversion-history.html
const microversion = '2.82';

/** The spelling is Nova's. */
export interface ExternalEvent {
  readonly name: string;
  readonly tag: string;
  readonly server_uuid: string;
  readonly status: 'completed' | 'failed';
}

/**
 * The outcome of one event. 200: Nova passes it to nova-compute. 404: the server does not exist.
 * 422: the server has no host yet; normal for a quick bind, since nova-compute reads the ARQs
 * itself later.
 */
interface EventOutcome {
  readonly tag: string;
  readonly code: number;
}

interface NovaServer {
  readonly projectId: string;
  /**
   * The server's host: null before a host claims it and while it is offloaded. Undefined if Nova
   * does not show it: the extended attributes are for admins.
   */
  readonly host?: string | null | undefined;
  /** What Nova does with the server now, such as `deleting`; null: nothing. */
  readonly taskState?: string | null | undefined;
  /** When anything about the server last changed; ISO 8601. */
  readonly updatedAt?: string | undefined;
}

export interface SomeServer {
  readonly uuid: string;
  readonly projectId: string;
}

export interface Nova {
  /** Outcomes in the order of the events. @throws RequestRefused, ServiceUnavailable */
  postExternalEvents(events: readonly ExternalEvent[]): Promise<EventOutcome[]>;
  /** Needs an admin's token: for other tokens Nova answers 404 for servers of other projects. */
  server(instanceUuid: string): Promise<NovaServer | 'not-found'>;
  /** Some servers of any project; empty if the cloud has no server. */
  someServers(): Promise<readonly SomeServer[]>;
}

export function createNova(options: {
  readonly identity: ServiceIdentity;
  readonly http: Http;
}): Nova {
  const headers = { 'OpenStack-API-Version': `compute ${microversion}` };
  const call = createServiceCalls(options.http, options.identity, { type: 'compute', headers });
  return {
    postExternalEvents: async (events) => {
      const { request, answer } = await call('POST', '/os-server-external-events', { events });
      // 207 as soon as one event is not accepted.
      expectStatus(request, answer, 200, 207);
      return readBody(eventsBody, request, answer);
    },
    server: async (instanceUuid) => {
      const path = `/servers/${encodeURIComponent(instanceUuid)}`;
      const { request, answer } = await call('GET', path);
      if (saysAbsent(answer, 'itemNotFound')) return 'not-found';
      expectStatus(request, answer, 200);
      const { server } = readBody(serverBody, request, answer);
      const host = server['OS-EXT-SRV-ATTR:host'];
      const taskState = server['OS-EXT-STS:task_state'];
      return { projectId: server.tenant_id, host, taskState, updatedAt: server.updated };
    },
    someServers: async () => {
      const path = `/servers/detail?all_tenants=1&limit=${serversSeen}`;
      const { request, answer } = await call('GET', path);
      expectStatus(request, answer, 200);
      const { servers } = readBody(serversBody, request, answer);
      return servers.map(({ id, tenant_id }) => ({ uuid: id, projectId: tenant_id }));
    },
  };
}

/** If one project owns all of these, a longer list adds nothing. */
const serversSeen = 50;

const eventsBody = z
  .object({
    events: z.array(z.object({ tag: z.string().optional(), code: z.number() })),
  })
  .transform(({ events }) => events.map(({ tag, code }) => ({ tag: tag ?? '', code })));

const serversBody = z.object({
  servers: z.array(z.object({ id: z.string(), tenant_id: z.string() })),
});
const serverBody = z.object({
  server: z.object({
    tenant_id: z.string(),
    updated: z.string().optional(),
    'OS-EXT-SRV-ATTR:host': z.string().nullish(),
    'OS-EXT-STS:task_state': z.string().nullish(),
  }),
});
