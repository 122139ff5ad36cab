// Fakes of Keystone, Placement, Nova and Glance behind the clients of the control plane. Placement
// is the fake of the local system; the others support only the calls that the control plane makes.

import {
  type Http,
  type HttpAnswer,
  type HttpRequest,
  ServiceUnavailable,
} from '#core/clients/http.ts';
import { type Glance, type GlanceImage, ImageUnusable } from '#core/clients/openstack/glance.ts';
import type { Keystone, TokenIdentity } from '#core/clients/openstack/keystone/keystone.ts';
import type { Staging } from '#core/clients/staging.ts';
import type { ImageQuery } from '#core/domain/profile/device-profile.ts';
import { present } from '#core/shapes/derive/present.ts';
import type { Ask } from '#local/openstack/http-service.ts';
import { answerTo } from '#local/openstack/placement/placement.ts';
import { type PlacementState, placementState } from '#local/openstack/placement/state.ts';
import type { Faults } from '#simulation/faults.ts';
import type { Process, Timeline } from '#simulation/timeline.ts';

export interface ServerEvent {
  readonly tag: string;
  readonly status: 'completed' | 'failed';
}

/** A server as Nova's API knows it. */
interface KnownServer {
  readonly projectId: string;
  /** Set by nova-compute; before that Nova refuses events for the server. */
  readonly host?: string;
  readonly onEvent: (event: ServerEvent) => void;
}

type Service = 'Keystone' | 'Placement' | 'Nova' | 'Glance' | 'S3';

export interface SimulatedOpenStack {
  readonly placement: PlacementState;
  /** Names of providers that were deleted while nova-compute's copy may have had them. */
  readonly deletedEarly: Set<string>;
  readonly servers: Map<string, KnownServer>;
  /** The events that Nova got, by server and ARQ, in order. */
  readonly eventsSent: Map<string, string[]>;
  readonly outages: Set<Service>;
  /** Tokens whose user has lost the role `service` for now; `own` is the service's own. */
  readonly revoked: Set<string>;
  /** When a call last met a service that was out. */
  outageMetAt: number;
  /** The services that were out when the process called them. */
  outagesMetBy(process: Process): ReadonlySet<Service>;
  /** Nova's API cannot reach the cell: its servers are not found. */
  isCellDown: boolean;
  /** While false, Placement shows no allocations. */
  hasAllocations: boolean;
  httpFor(process: Process): Http;
  keystoneFor(process: Process): Keystone;
  glanceFor(process: Process): Glance;
  stagingFor(process: Process): Staging;
}

export interface Image {
  readonly id: string;
  readonly name: string;
  readonly functionUuid: string;
  readonly interfaceUuid: string;
  readonly properties?: Readonly<Record<string, string>>;
}

export const projects = { service: 'service', demo: 'demo', other: 'other' } as const;

const callers: Readonly<Record<string, Pick<TokenIdentity, 'userId' | 'projectId' | 'roles'>>> = {
  'nova-token': { userId: 'nova', projectId: projects.service, roles: ['service', 'admin'] },
  'demo-token': { userId: 'demo', projectId: projects.demo, roles: ['member', 'reader'] },
  'other-token': { userId: 'other', projectId: projects.other, roles: ['member', 'reader'] },
  own: { userId: 'cyborg', projectId: projects.service, roles: ['service', 'admin'] },
  'admin-token': { userId: 'admin', projectId: 'admin', roles: ['admin', 'member', 'reader'] },
};

/** A server of another project, without accelerators, in a cell of its own. */
const foreign = '00000000-0000-4000-8000-000000000001';

/** Nova's `[compute] resource_provider_association_refresh`, at which it looks each minute. */
const copyOfTreeMs = 360_000;

export function createOpenStack(
  timeline: Timeline,
  faults: Faults,
  images: readonly Image[],
): SimulatedOpenStack {
  const state = placementState.parse({});
  const servers = new Map<string, KnownServer>([
    [foreign, { projectId: projects.other, onEvent: () => {} }],
  ]);
  const eventsSent = new Map<string, string[]>();
  const outages: SimulatedOpenStack['outages'] = new Set();
  const revoked: SimulatedOpenStack['revoked'] = new Set();

  const leftAt = new Map<string, number>();
  const deletedEarly = new Set<string>();
  const met = new WeakMap<Process, Set<Service>>();

  function refuse(process: Process, service: Exclude<Service, 'S3'>): void {
    const isOut = outages.has(service);
    if (isOut) {
      met.set(process, new Set(met.get(process)).add(service));
      openstack.outageMetAt = timeline.now();
    }
    const isAway = isOut || faults.happens(`${service} unavailable`);
    if (isAway) throw new ServiceUnavailable(service, `http://${service}`, 'out of service', true);
  }

  async function placement(request: HttpRequest, url: URL): Promise<HttpAnswer> {
    const uuid = /resource_providers\/([0-9a-f-]{36})/.exec(url.pathname)?.[1] ?? '';
    const provider = state.providers[uuid];
    if (provider && request.method === 'PUT' && faults.happens('Placement written by others')) {
      provider.generation += 1;
    }
    const ask: Ask = {
      method: request.method,
      path: url.pathname,
      query: url.searchParams,
      headers: Object.fromEntries(
        Object.entries(request.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
      ),
      params: {},
      body: request.body === undefined ? undefined : structuredClone(request.body),
      bytes: Buffer.from(JSON.stringify(request.body) ?? ''),
      requestId: 'req',
    };
    if (
      !openstack.hasAllocations &&
      request.method === 'GET' &&
      /\/allocations\b/.test(url.pathname)
    ) {
      return { status: 200, body: { allocations: {} }, headers: new Headers() };
    }
    const { status, body } = await answerTo(['admin'], ask, { now: state, save: () => {} });
    if (provider && request.method === 'PUT' && provider.parent === null) {
      if (url.pathname.endsWith(uuid)) leftAt.set(uuid, timeline.now());
    }
    if (provider && request.method === 'DELETE' && status === 204) {
      const copiedUntil = (leftAt.get(uuid) ?? Number.POSITIVE_INFINITY) + copyOfTreeMs;
      if (copiedUntil > timeline.now()) deletedEarly.add(provider.name);
    }
    return {
      status,
      body: body === undefined ? undefined : structuredClone(body),
      headers: new Headers(),
    };
  }

  function nova(request: HttpRequest, url: URL): HttpAnswer {
    const answer = (status: number, body: unknown) => ({ status, body, headers: new Headers() });
    if (request.method === 'POST' && url.pathname === '/os-server-external-events') {
      const { events } = request.body as {
        events: { tag: string; server_uuid: string; status: ServerEvent['status'] }[];
      };
      const outcomes = events.map(({ tag, server_uuid, status }) => {
        const server = servers.get(server_uuid);
        if (!server) return { tag, code: 404 };
        if (server.host === undefined) return { tag, code: 422 };
        const key = `${server_uuid} ${tag}`;
        eventsSent.set(key, [...(eventsSent.get(key) ?? []), status]);
        // RabbitMQ may lose the event on the way to nova-compute.
        if (!faults.happens('Nova event lost')) server.onEvent({ tag, status });
        return { tag, code: 200 };
      });
      return answer(outcomes.every(({ code }) => code === 200) ? 200 : 207, { events: outcomes });
    }
    if (url.pathname === '/servers/detail') {
      const all = [...servers].map(([id, { projectId }]) => ({ id, tenant_id: projectId }));
      return answer(200, { servers: all });
    }
    const uuid = /^\/servers\/([^/]+)$/.exec(url.pathname)?.[1] ?? '';
    const server = servers.get(uuid);
    const isHidden = openstack.isCellDown && uuid !== foreign;
    return server && !isHidden && !faults.happens('Nova answers 404')
      ? answer(200, {
          server: {
            id: uuid,
            tenant_id: server.projectId,
            'OS-EXT-SRV-ATTR:host': server.host ?? null,
          },
        })
      : answer(404, { itemNotFound: { code: 404, message: 'Instance could not be found.' } });
  }

  const openstack: SimulatedOpenStack = {
    placement: state,
    deletedEarly,
    servers,
    eventsSent,
    outages,
    revoked,
    outageMetAt: Number.NEGATIVE_INFINITY,
    outagesMetBy: (process) => met.get(process) ?? new Set(),
    isCellDown: false,
    hasAllocations: true,
    httpFor: (process) => (request) => {
      const url = new URL(request.url);
      const isPlacement = request.service === 'placement';
      return timeline.effect(
        process,
        `${request.service} ${request.method} ${url.pathname}`,
        () => {
          refuse(process, isPlacement ? 'Placement' : 'Nova');
          if (revoked.has('own')) return { status: 403, body: undefined, headers: new Headers() };
          return isPlacement ? placement(request, url) : nova(request, url);
        },
      );
    },
    keystoneFor: (process) => ({
      ownToken: async () => 'own',
      noteAway: () => {},
      dropOwnToken: () => {},
      endpoint: async (type) => `http://${type}`,
      hasProject: async () => true,
      validateToken: (token) =>
        timeline.effect(process, 'Keystone GET', () => {
          refuse(process, 'Keystone');
          const caller = callers[token];
          const expiresAt = new Date(timeline.now() + 3_600_000);
          const roles = revoked.has(token) ? ['member', 'reader'] : (caller?.roles ?? []);
          return caller && { ...caller, roles, isSystemScoped: false, expiresAt };
        }),
    }),
    glanceFor: (process) => ({
      findImage: (query) =>
        timeline.effect(process, 'Glance GET', () => {
          refuse(process, 'Glance');
          return findImage(images, query);
        }),
      imageOfProject: async () => {
        throw new Error('Nova names no image of a server.');
      },
      download: async () => {
        throw new Error('The fake Glance has no downloads; the fake staging needs none.');
      },
    }),
    stagingFor: (process) => ({
      stage: (image) =>
        timeline.effect(process, 'S3 PUT', () => {
          refuse(process, 'Glance');
          if (outages.has('S3')) {
            throw new ServiceUnavailable('s3', 's3://staging', 'out of service', true);
          }
          return { url: `https://staging/${image.id}`, sha256: sha256Of(image.id), bytes: 1000 };
        }),
    }),
  };
  return openstack;
}

/** Any 64 digits that differ between images. */
export function sha256Of(imageId: string): string {
  return imageId.replaceAll('-', '').repeat(2);
}

function findImage(images: readonly Image[], { by, value }: ImageQuery): GlanceImage {
  const image = images.find((image) => {
    if (by === 'bitstream_id') return image.id === value;
    if (by === 'bitstream_name') return image.name === value;
    return image.functionUuid === value;
  });
  if (!image) throw new ImageUnusable(`No image with ${by} ${value}.`);
  const { id, properties } = image;
  return { id, ...present({ properties }) };
}
