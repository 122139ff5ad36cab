// Servers and devices of the cloud, as its users and operators see them.

import assert from 'node:assert/strict';
import { eventually } from '#test/support/suites/rest.ts';
import type { Cloud } from './cloud.ts';
import type { Stage } from './stage.ts';

/** The guest's CPU is emulated, so the agent takes tens of seconds to start. */
const withinSeconds = 120;

interface Arq {
  readonly uuid: string;
  readonly state: string;
  readonly attach_handle_type: string;
  readonly attach_handle_uuid: string;
  readonly attach_handle_info: Readonly<Record<string, string>>;
}

/** With the address of its PCI function. */
type ServerArq = Arq & { readonly function: string };

/** Waits until exactly devices with these product ids of the host are in the list of the API. */
export async function untilProducts(
  { api }: Cloud,
  hostname: string,
  products: readonly string[],
): Promise<void> {
  const expected = [...products].sort().join();
  await eventually(
    async () => {
      const path = `/devices?hostname=${hostname}`;
      const answer = await api.get<{ devices: { std_board_info: string }[] }>(
        path,
        'manager-token',
      );
      return answer.devices.map((device) => JSON.parse(device.std_board_info).product_id).sort();
    },
    (found) => found.join() === expected,
    withinSeconds,
  );
}

/** Waits until the provider of that name has that many of the class, none of them reserved. */
export async function untilInventory(
  { placement }: Cloud,
  provider: string,
  resourceClass: string,
  total: number,
): Promise<void> {
  await eventually(
    async () => {
      const found = await placement.get<{ resource_providers: { uuid: string }[] }>(
        `/resource_providers?name=${provider}`,
        'admin-token',
      );
      const uuid = found.resource_providers[0]?.uuid;
      if (uuid === undefined) return undefined;
      const { inventories } = await placement.get<{
        inventories: Record<string, { total: number; reserved: number } | undefined>;
      }>(`/resource_providers/${uuid}/inventories`, 'admin-token');
      const inventory = inventories[resourceClass];
      return inventory && inventory.total - inventory.reserved;
    },
    (found) => found === total,
    withinSeconds,
  );
}

/** Creates a profile and a flavor of that name. */
export async function createFlavor(
  { api, nova }: Cloud,
  name: string,
  group: Readonly<Record<string, string>>,
): Promise<void> {
  await api.post('/device_profiles', 'admin-token', [{ name, groups: [group] }]);
  const flavor = { id: name, name, vcpus: 1, ram: 64, disk: 1 };
  await nova.post('/flavors', 'admin-token', { flavor });
  await nova.post(`/flavors/${name}/os-extra_specs`, 'admin-token', {
    extra_specs: { 'accel:device_profile': name },
  });
}

/** Creates a server and waits for the end of its build; returns its id and status. */
export async function createServer(
  { nova }: Cloud,
  flavor: string,
): Promise<{ readonly id: string; readonly status: string }> {
  const { server } = await nova.post<{ server: { id: string } }>('/servers', 'demo-token', {
    server: { name: `server-${flavor}`, flavorRef: flavor },
  });
  const built = await eventually(
    () => nova.get<{ server: { status: string } }>(`/servers/${server.id}`, 'demo-token'),
    (each) => each.server.status !== 'BUILD',
    withinSeconds,
  );
  return { id: server.id, status: built.server.status };
}

/** The id of a server that must have become ACTIVE. */
export async function createActiveServer(cloud: Cloud, flavor: string): Promise<string> {
  const { id, status } = await createServer(cloud, flavor);
  assert.equal(status, 'ACTIVE');
  return id;
}

/** The one ARQ of the server. */
export async function arqOf({ api }: Cloud, server: string): Promise<ServerArq> {
  const path = `/accelerator_requests?instance=${server}`;
  const { arqs } = await api.get<{ arqs: Arq[] }>(path, 'demo-token');
  const [arq, ...others] = arqs;
  assert.ok(arq && others.length === 0, `Server ${server} has ${arqs.length} ARQs.`);
  const { domain, bus, device, function: fn } = arq.attach_handle_info;
  return { ...arq, function: `${domain}:${bus}:${device}.${fn}` };
}

/** The PCI function of the server's ARQ, once it is Bound. */
export async function boundFunction(cloud: Cloud, server: string): Promise<string> {
  const arq = await eventually(
    () => arqOf(cloud, server),
    ({ state }) => state === 'Bound',
    withinSeconds,
  );
  assert.equal(arq.attach_handle_type, 'PCI');
  return arq.function;
}

/** Deletes the server and waits until it has no ARQ. */
export async function deleteServer({ api, nova }: Cloud, server: string): Promise<void> {
  await nova.delete(`/servers/${server}`, 'demo-token');
  await eventually(
    () => api.get<{ arqs: Arq[] }>(`/accelerator_requests?instance=${server}`, 'demo-token'),
    ({ arqs }) => arqs.length === 0,
    withinSeconds,
  );
}

/** A device with its components and their programs. */
interface ComponentDevice {
  readonly uuid: string;
  readonly status: string;
  readonly components: readonly { readonly name: string; readonly version: string }[] | null;
  readonly programs: readonly {
    readonly state: string;
    readonly reason: string | null;
    readonly evidence: Readonly<Record<string, unknown>> | null;
  }[];
}

/** The device of the host that has this component. */
export async function componentDevice(
  { cloud, hostname }: Stage,
  component: string,
): Promise<ComponentDevice> {
  const path = `/devices?hostname=${hostname}`;
  const { devices } = await cloud.api.get<{ devices: ComponentDevice[] }>(path, 'admin-token');
  const found = devices.find(({ components }) =>
    components?.some(({ name }) => name === component),
  );
  assert.ok(found, `No device of ${hostname} has the component ${component}.`);
  return found;
}

export interface Firmware {
  /** As in the image's property. */
  readonly models: string;
  readonly version: string;
  readonly content: string;
}

/** Asks for firmware of a component, from a signed image. */
export async function programComponent(
  stage: Stage,
  component: string,
  { models, version, content }: Firmware,
): Promise<void> {
  const image = await stage.cloud.addFirmware(content, {
    'accel:component': component,
    'accel:models': models,
    'accel:version': version,
  });
  const { uuid } = await componentDevice(stage, component);
  const body = [{ op: 'add', path: `/firmware/${component}`, value: image }];
  await stage.cloud.api.patch(`/devices/${uuid}`, 'admin-token', body);
}

/** Waits until the last program of the component's device is in that state. */
export async function untilProgram(
  stage: Stage,
  component: string,
  state: string,
): Promise<ComponentDevice> {
  return await eventually(
    () => componentDevice(stage, component),
    (found) => found.programs[0]?.state === state,
    withinSeconds,
  );
}

/**
 * Cuts the power of the host, after which the component runs the version that it has stored, and
 * waits until the host has read that back.
 *
 * @param start starts the agent
 */
export async function passPowerCycle(
  stage: Stage,
  component: string,
  version: string,
  start: () => Promise<void>,
): Promise<void> {
  await stage.powerOff();
  await stage.boot();
  await start();
  const { status, programs } = await untilProgram(stage, component, 'done');
  assert.deepEqual([status, programs[0]?.evidence?.version], ['enabled', version]);
}

/** The guest reaches images through a port of its own. @returns the agent's `image_source` */
export async function passImages({ guest, cloud }: Stage): Promise<string> {
  const port = String(cloud.imagesPort);
  // Below /suite in the group `systemd`.
  const busybox = (await guest.exists('/suite/bin/busybox')) ? '/suite/bin/busybox' : 'busybox';
  const to = [busybox, 'nc', '10.0.2.100', '9326'];
  await guest.start('images', [busybox, 'nc', '-ll', '-p', port, '-e', ...to]);
  return `http://127.0.0.1:${port}/`;
}
