// The latency of every route, one request after the other: medians, for comparison with each
// other.

import { routes } from '#functions/routes.ts';
import { bindPatch } from '#test/support/bind-patch.ts';
import { printTable } from './print/print-table.ts';
import { type Api, createApi } from './system/api.ts';
import { startOwnSystem } from './system/own-system.ts';

const none = '99999999-0000-4000-8000-000000000009';

/** Creates what one request needs, and returns the request. */
type Prepare = (api: Api, index: number) => Promise<Asked> | Asked;
interface Asked {
  readonly path: string;
  readonly body?: unknown;
}

interface Known {
  readonly device: string;
  readonly deployable: string;
  readonly provider: string;
  readonly profile: string;
}

const group = { 'resources:FPGA': '1', 'trait:CUSTOM_FAKE_DEVICE': 'required' };

export async function benchRoutes(iterations: number): Promise<void> {
  const { target, stop } = await startOwnSystem({ handles: [16], arqCount: 0 });
  const api = createApi({ ...target, token: 'admin-token' });
  try {
    const prepared = preparations(await know(api));
    const rows: string[][] = [];
    for (const { method, path } of routes) {
      const prepare = prepared[`${method} ${path}`];
      if (!prepare) throw new Error(`unknown route: ${method} ${path}`);
      const times: number[] = [];
      const statuses = new Set<number>();
      for (let index = 0; index < iterations; index++) {
        const asked = await prepare(api, index);
        const { ms, status } = await api.ask(method, asked.path, asked.body);
        times.push(ms);
        statuses.add(status);
      }
      times.sort((a, b) => a - b);
      const at = (part: number) => (times[Math.floor(part * (times.length - 1))] ?? 0).toFixed(1);
      rows.push([`${method} ${path}`, [...statuses].join(), at(0.5), at(0.95)]);
    }
    printTable('Every route, in ms', ['route', 'status', 'median', 'p95'], rows);
  } finally {
    api.close();
    await stop();
  }
}

async function know(api: Api): Promise<Known> {
  const first = async (collection: string) => {
    const { text } = await api.ask('GET', `/${collection}?limit=1`);
    return (JSON.parse(text) as Record<string, { uuid: string; rp_uuid: string }[]>)[
      collection
    ]?.[0];
  };
  const [device, deployable] = [await first('devices'), await first('deployables')];
  const profile = await first('device_profiles');
  if (!device || !deployable || !profile) throw new Error('The system has no device.');
  const { uuid, rp_uuid } = deployable;
  return { device: device.uuid, deployable: uuid, provider: rp_uuid, profile: profile.uuid };
}

function preparations(known: Known): Readonly<Record<string, Prepare>> {
  const device = `/devices/${known.device}`;
  const deployable = `/deployables/${known.deployable}`;
  const program = [{ op: 'replace', path: '/program', value: [{ image_uuid: none }] }];
  const named = (name: string) => [{ name, groups: [group] }];
  const profile: Prepare = async (api, index) => {
    await api.ask('POST', '/device_profiles', named(`r${index}`));
    return { path: `/device_profiles/r${index}` };
  };
  const bind: Prepare = async (api) => {
    const arq = await newArq(api);
    // Unbind the previous ARQ: then the device has enough handles for all requests.
    await api.ask('DELETE', `/accelerator_requests?instance=${none}`);
    const patch = bindPatch({
      hostname: 'cmp1',
      device_rp_uuid: known.provider,
      instance_uuid: none,
    });
    return { path: '/accelerator_requests', body: { [arq]: patch } };
  };
  const attribute: Asked = {
    path: '/attributes',
    body: { deployable_id: known.deployable, key: 'bench', value: '1' },
  };
  const newAttribute = async (api: Api) => {
    const { text } = await api.ask('POST', '/attributes', attribute.body);
    return `/attributes/${(JSON.parse(text) as { uuid: string }).uuid}`;
  };
  let added: string | undefined;
  const at = (path: string): Prepare => {
    return () => ({ path });
  };
  return {
    'GET /': at('/..'),
    'GET /v2': at(''),
    'GET /openapi': at('/../openapi.json'),
    'GET /v2/device_profiles': at('/device_profiles'),
    'POST /v2/device_profiles': (_, index) => ({
      path: '/device_profiles',
      body: named(`n${index}`),
    }),
    'DELETE /v2/device_profiles': (_, index) => ({ path: `/device_profiles?value=n${index}` }),
    'GET /v2/device_profiles/{id}': at(`/device_profiles/${known.profile}`),
    'DELETE /v2/device_profiles/{id}': profile,
    'GET /v2/accelerator_requests': at('/accelerator_requests?limit=20'),
    'POST /v2/accelerator_requests': () => ({
      path: '/accelerator_requests',
      body: { device_profile_name: 'bench' },
    }),
    'PATCH /v2/accelerator_requests': bind,
    'DELETE /v2/accelerator_requests': at(`/accelerator_requests?instance=${none}`),
    'GET /v2/accelerator_requests/{id}': async (api) => ({
      path: `/accelerator_requests/${await newArq(api)}`,
    }),
    'PATCH /v2/accelerator_requests/{id}': bind,
    'DELETE /v2/accelerator_requests/{id}': async (api) => ({
      path: `/accelerator_requests/${await newArq(api)}`,
    }),
    'GET /v2/devices': at('/devices'),
    'GET /v2/devices/{id}': at(device),
    'PATCH /v2/devices/{id}': () => ({
      path: device,
      body: [{ op: 'replace', path: '/status', value: 'enabled' }],
    }),
    'POST /v2/devices/{id}/enable': at(`${device}/enable`),
    'POST /v2/devices/{id}/disable': at(`${device}/disable`),
    'POST /v2/devices/{id}/force_release': at(`${device}/force_release`),
    'GET /v2/deployables': at('/deployables'),
    'GET /v2/deployables/{id}': at(deployable),
    // The device of the bench has no region: the API reads it and then refuses the request.
    'PATCH /v2/deployables/{id}': () => ({
      path: deployable,
      body: [{ op: 'add', path: '/bitstream', value: none }],
    }),
    'PATCH /v2/deployables/{id}/program': () => ({ path: `${deployable}/program`, body: program }),
    'PATCH /v2/deployables/{id}/program/{id}': () => ({
      path: `${deployable}/program/${known.deployable}`,
      body: program,
    }),
    'GET /v2/attributes': at('/attributes'),
    'POST /v2/attributes': async (api) => {
      // A deployable has a maximum of attributes.
      const { text } = await api.ask('GET', '/attributes?key=bench&limit=1');
      const [before] = (JSON.parse(text) as { attributes: { uuid: string }[] }).attributes;
      if (before) await api.ask('DELETE', `/attributes/${before.uuid}`);
      return attribute;
    },
    'GET /v2/attributes/{id}': async (api) => {
      added ??= await newAttribute(api);
      return { path: added };
    },
    'DELETE /v2/attributes/{id}': async (api) => ({ path: await newAttribute(api) }),
  };
}

async function newArq(api: Api): Promise<string> {
  const { text } = await api.ask('POST', '/accelerator_requests', { device_profile_name: 'bench' });
  return (JSON.parse(text) as { arqs: { uuid: string }[] }).arqs[0]?.uuid ?? none;
}
