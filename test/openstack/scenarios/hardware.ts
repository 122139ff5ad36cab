// A compute node whose accelerators have real drivers of the agent: Nova boots servers on it, the
// host loses its power, the servers are deleted, and their devices are cleaned. The node is a VM
// with a real kernel; what in it is no hardware is said in test/kernel/README.md.

import assert from 'node:assert/strict';
import type { Evidence } from '#core/contracts/jobs/job-document.ts';
import { fetchNewerQemu } from '#test/kernel/debian/qemu.ts';
import type { Stage as Host } from '#test/kernel/stage.ts';
import { hardwareClasses, prepareHardware } from '#test/openstack/hardware-classes.ts';
import {
  cache,
  ensureVm,
  hardwareHost,
  joinNode,
  startHost,
  untilOffered,
  withinSeconds,
} from '#test/openstack/hardware-node.ts';
import { scheduleOnlyTo } from '#test/openstack/nodes.ts';
import type { Scenario } from '#test/openstack/scenario.ts';
import {
  arqsOf,
  assertHas,
  build,
  offer,
  putImage,
  removeCleanly,
} from '#test/openstack/servers.ts';
import type { Stage } from '#test/openstack/stage.ts';
import { type Arq, eventually } from '#test/support/suites/rest.ts';

const classNames = Object.keys(hardwareClasses);
/** In the guest, whose port leads to S3: images come from the address that their signature has. */
const imagesProxy = ['busybox', 'nc', '10.0.2.100', '9326'];

/** Before OpenStack is started. @throws CannotRun where the VM cannot run */
export function ensureHardware(): void {
  ensureVm();
  fetchNewerQemu(cache);
}

async function startAgent(host: Host): Promise<void> {
  const port = String(host.hosts.imagesPort);
  await host.guest.start('images', ['busybox', 'nc', '-ll', '-p', port, '-e', ...imagesProxy]);
  const classes = Object.values(hardwareClasses);
  await host.startAgent({
    drivers: classes.map(({ driver }) => driver),
    // nova-compute runs outside of the VM, where the agent does not find its release.
    attach_types: ['PCI', 'MDEV'],
    image_source: `http://127.0.0.1:${port}/`,
    ...Object.fromEntries(classes.map((each) => [each.driver, each.settings])),
  });
}

export function hardware(): {
  readonly scenarios: readonly Scenario[];
  readonly end: () => Promise<void>;
} {
  let host: Host | undefined;
  /** Keys are the names of their classes. */
  const servers = new Map<string, { readonly id: string; readonly arq: Arq }>();
  const node = (): Host => {
    assert.ok(host, 'The compute node has not joined.');
    return host;
  };
  const buildAll = async (stage: Stage): Promise<string> => {
    const notes: string[] = [];
    for (const name of classNames) {
      const built = await build(stage, name);
      const [arq] = await assertHas(stage, built, 1);
      assert.ok(arq && arq.hostname === hardwareHost);
      servers.set(name, { id: built.id, arq });
      const { resourceClass, holds } = hardwareClasses[name] ?? assert.fail();
      await holds?.(node().guest, arq.attach_handle_info);
      notes.push(`${name}: 1 ${resourceClass}, ACTIVE after ${built.seconds.toFixed(1)} s`);
    }
    return notes.join('\n');
  };
  const removeAll = async (stage: Stage): Promise<string> => {
    const startedAt = performance.now();
    for (const { id } of servers.values()) {
      await removeCleanly(stage, id);
    }
    await eventually(() => node().hosts.isClean(hardwareHost), Boolean, 290);
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    const evidence = await node().hosts.evidenceOf(hardwareHost);
    return [`clean after ${seconds} s`, ...evidence.map(shown)].join('\n');
  };
  const scenarios: readonly Scenario[] = [
    {
      name: 'hardware: a compute node with real drivers joins the cloud',
      run: async (stage) => {
        host = await start(stage);
        await startAgent(host);
        await joinNode(stage);
        for (const [name, { resourceClass, group, image }] of Object.entries(hardwareClasses)) {
          const id = image && (await putImage(stage, name, new Uint8Array(image)));
          const programmed = id && { 'accel:bitstream_id': id };
          const resources = { [`resources:${resourceClass}`]: '1' };
          await offer(stage, name, [{ ...resources, ...group, ...programmed }]);
        }
        const wanted = Object.values(hardwareClasses).map((each) => each.resourceClass);
        const found = await untilOffered(stage, wanted);
        return `resource classes below the node: ${[...found].sort().join(', ')}`;
      },
    },
    {
      name: 'hardware: a server of each class is ACTIVE with its device',
      run: buildAll,
    },
    {
      name: 'hardware: after a loss of power the servers have the same devices',
      run: async (stage) => {
        const startedAt = performance.now();
        await node().powerOff();
        await node().boot();
        await startAgent(node());
        for (const [name, { id, arq }] of servers) {
          const [now] = await eventually(
            () => arqsOf(stage, id),
            (arqs) => arqs.every(({ state }) => state === 'Bound'),
            withinSeconds,
          );
          assert.equal(now?.attach_handle_uuid, arq.attach_handle_uuid);
          assert.deepEqual(now?.attach_handle_info, arq.attach_handle_info);
          const { holds } = hardwareClasses[name] ?? assert.fail();
          await eventually(
            async () => await holds?.(node().guest, arq.attach_handle_info).catch(String),
            (fault) => fault === undefined,
            withinSeconds,
          );
        }
        return `Bound again ${((performance.now() - startedAt) / 1000).toFixed(1)} s after the cut`;
      },
    },
    {
      name: 'hardware: the servers are deleted, and the host cleans their devices',
      run: removeAll,
    },
    {
      name: 'hardware: the next servers get the devices',
      run: async (stage) => {
        const note = await buildAll(stage);
        await removeAll(stage);
        await scheduleOnlyTo(stage);
        return note;
      },
    },
  ];
  return { scenarios, end: async () => await host?.powerOff() };
}

function start(stage: Stage): Promise<Host> {
  const prepare = ({ guest }: Host) => prepareHardware(guest);
  const group = { name: 'hardware', networkCard: true as const, prepare };
  return startHost(stage, group, { qemu: fetchNewerQemu(cache) });
}

function shown(evidence: Evidence): string {
  return JSON.stringify(evidence);
}
