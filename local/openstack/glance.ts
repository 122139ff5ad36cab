// A fake Glance over HTTP: images with custom properties and data. An image becomes active when
// its data is uploaded, and does not change afterwards.

import { createHash } from 'node:crypto';
import * as z from 'zod';
import type { TokenIdentity } from '#core/clients/openstack/keystone/keystone.ts';
import type { ListenOptions } from '#local/ports.ts';
import { discoveryAnswer, imageDiscovery } from './discovery.ts';
import {
  type Answer,
  type Ask,
  findRoute,
  Refusal,
  type Routes,
  type Service,
  startService,
} from './http-service.ts';
import { createCallers } from './keystone/callers.ts';
import { openState, type State } from './state-file.ts';

interface FakeGlanceOptions extends ListenOptions {
  readonly keystoneUrl: string;
  readonly stateFile?: string | undefined;
}

interface Context {
  readonly state: State<GlanceState>;
  readonly caller: TokenIdentity;
}

const image = z.looseObject({
  id: z.guid(),
  name: z.string().nullable(),
  status: z.enum(['queued', 'active']),
  size: z.number().nullable(),
  os_hash_algo: z.string().nullable(),
  os_hash_value: z.string().nullable(),
  visibility: z.string().default('shared'),
  owner: z.string().nullable().default(null),
});
type Image = z.infer<typeof image>;

const glanceState = z.object({
  images: z.record(z.string(), image).default({}),
  /** Data of active images, as base64: images of a local system are small. */
  data: z.record(z.string(), z.string()).default({}),
});
type GlanceState = z.infer<typeof glanceState>;

/** The name and any properties of a new image. */
const newImage = z
  .object({ id: z.guid().optional(), name: z.string().optional() })
  .catchall(z.string());

export async function startGlance(options: FakeGlanceOptions): Promise<Service> {
  const state = openState(glanceState, options.stateFile);
  const callers = createCallers('glance', options.keystoneUrl);
  return startService({
    ...options,
    answer: async (ask) => {
      const discovered = discoveryAnswer(imageDiscovery, ask);
      if (discovered) return discovered;
      const identified = await callers.identify(ask);
      return 'answer' in identified ? identified.answer : answer(ask, { state, ...identified });
    },
  });
}

async function answer(ask: Ask, context: Context): Promise<Answer> {
  try {
    const route = findRoute(routes, ask.method, ask.path);
    if (!route) throw new Refusal(404, 'The resource could not be found.');
    if (!('handler' in route)) throw new Refusal(405, 'The method is not allowed.');
    return await route.handler({ ...ask, params: route.params }, context);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { status, message } = error;
    return { status, body: { code: `${status}`, title: 'Error', message } };
  }
}

const routes: Routes<Context> = {
  'GET /v2/images': ({ query }, { state }) => {
    const filters = [...query].filter(([key]) => !['limit', 'marker', 'sort'].includes(key));
    const images = Object.values(state.now.images).filter((each) =>
      filters.every(([key, value]) => each[key] === value),
    );
    return { status: 200, body: { images, first: '/v2/images' } };
  },
  'POST /v2/images': (ask, { state, caller }) => {
    requireAdmin(caller);
    const parsed = newImage.safeParse(ask.body);
    if (!parsed.success) throw new Refusal(400, z.prettifyError(parsed.error));
    const { id = crypto.randomUUID(), name = null, ...properties } = parsed.data;
    if (state.now.images[id]) throw new Refusal(409, `Image ID ${id} already exists!`);
    const owned = { visibility: 'shared', owner: caller.projectId ?? null };
    const made: Image = { ...owned, ...properties, id, name, status: 'queued', ...noData };
    state.now.images[id] = made;
    state.save();
    return { status: 201, body: made };
  },
  'GET /v2/images/{id}': (ask, { state }) => ({ status: 200, body: named(ask, state.now) }),
  // Nothing shares an image here.
  'GET /v2/images/{id}/members/{member}': (ask, { state }) => {
    throw new Refusal(
      404,
      `${ask.params.member} not found in the member list of the image ${named(ask, state.now).id}`,
    );
  },
  'PUT /v2/images/{id}/file': (ask, { state, caller }) => {
    requireAdmin(caller);
    const image = named(ask, state.now);
    if (image.status !== 'queued') throw new Refusal(409, `Image ${image.id} has data already.`);
    state.now.data[image.id] = ask.bytes.toString('base64');
    Object.assign(image, {
      status: 'active',
      size: ask.bytes.length,
      // Glance's default.
      os_hash_algo: 'sha512',
      os_hash_value: createHash('sha512').update(ask.bytes).digest('hex'),
    });
    state.save();
    return { status: 204 };
  },
  'GET /v2/images/{id}/file': (ask, { state }) => {
    const { id } = named(ask, state.now);
    const data = state.now.data[id];
    if (data === undefined) return { status: 204 };
    return { status: 200, body: Buffer.from(data, 'base64') };
  },
};

const noData = { size: null, os_hash_algo: null, os_hash_value: null } as const;

function named(ask: Ask, { images }: GlanceState): Image {
  const image = images[ask.params.id ?? ''];
  if (!image) throw new Refusal(404, `No image found with ID ${ask.params.id}`);
  return image;
}

function requireAdmin({ roles }: TokenIdentity): void {
  if (!roles.includes('admin')) throw new Refusal(403, 'You are not authorized to do this.');
}
