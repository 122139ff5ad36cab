// Trees of hosts that Placement has lost: a compute service that is deleted and comes back, and
// providers that were deleted by hand.

import { beforeEach, describe, expect, it } from 'vitest';
import { ServiceUnavailable } from '#core/clients/http.ts';
import type { ProviderSyncMessage } from '#core/contracts/queues/queue-messages.ts';
import { lostPart } from '#core/domain/host/host-summary.ts';
import { providerUuid } from '#core/domain/ids.ts';
import { RetryLater } from '#core/domain/retry-later.ts';
import { forgetHost } from '#core/operations/hosts/forget-host.ts';
import { compareHost } from '#core/operations/placement/compare-host.ts';
import { lookAtTrees, restoreTree } from '#core/operations/placement/restore-tree.ts';
import { syncProviders } from '#core/operations/placement/sync-providers.ts';
import { reap } from '#core/operations/release/reap/reap.ts';
import { readIncidents } from '#functions/operator/incidents/incident-reads.ts';
import { aCaller } from '#test/support/builders.ts';
import { withClients } from '#test/support/deps.ts';
import { aDevice } from '#test/support/reports.ts';
import { allocate } from '#test/support/stored/allocations.ts';
import { perFile } from '#test/support/vitest/shared.ts';
import { startWorld } from '#test/support/world.ts';

const minuteMs = 60_000;
const world = perFile(startWorld);
let host: string;
let hosts = 0;

const placement = () => world.deps.clients.placement;
const whole = () => providerUuid(`${host}_FakeDevice`);
const other = () => providerUuid(`${host}_Other`);
const boards = () => [
  aDevice({ handles: 2 }),
  aDevice({ address: '0000:0d:00.0', provider_suffix: 'Other' }),
];

let begunAt = 0;

beforeEach(async () => {
  hosts += 1;
  host = `cmp${hosts}`;
  await world.startComputeNode(host);
  await world.report(host, boards());
  await syncProviders(world.deps, whole(), 1);
  await syncProviders(world.deps, other(), 1);
  begunAt = Date.now();
});

/** The product at a time after the begin of the test, with the messages that it sends. */
function later(minutes = 2, deps = world.deps) {
  const sent: ProviderSyncMessage[] = [];
  const send = async (_queue: string, messages: readonly object[]) =>
    void sent.push(...(messages as ProviderSyncMessage[]));
  const clock = () => begunAt + minutes * minuteMs;
  return { deps: { ...deps, clock, queues: { send } }, sent };
}

async function sweep(minutes?: number): Promise<ProviderSyncMessage[]> {
  const { deps, sent } = later(minutes);
  await lookAtTrees(deps);
  return sent.filter((message) => 'hostname' in message && message.hostname === host);
}

/** As Nova does when it deletes a compute service: children first. */
async function deleteTree(): Promise<void> {
  const node = await placement().findProviderByName(host);
  const tree = await placement().providersInTree(node?.uuid ?? '');
  const childrenFirst = tree.sort((a, b) => Number(!a.parentUuid) - Number(!b.parentUuid));
  for (const { uuid } of childrenFirst) {
    expect(await placement().deleteProvider(uuid)).toBe('deleted');
  }
}

/** The message of the host after a look that has found it lost. */
async function restore(minutes = 2): Promise<void> {
  const early = restoreTree(later(minutes).deps, host, 1);
  await early.catch((error) => expect(error).toBeInstanceOf(RetryLater));
  await restoreTree(later(minutes + 0.3).deps, host, 2);
}

async function incident() {
  const entries = await readIncidents['lost-providers'](world.deps, undefined, 100);
  return entries.flatMap(({ row }) => (row?.hostname === host ? [row] : []));
}

async function reserved(provider: string): Promise<number | undefined> {
  return (await placement().getInventories(provider))?.inventories.FPGA?.reserved;
}

const differing = async () => (await compareHost(world.deps, host)).filter((row) => !row.agrees);

describe('a sweep', () => {
  it('asks Placement once for a host whose tree is whole, and changes nothing', async () => {
    const { deps, sent } = later();
    const asked: string[] = [];
    const { placement: real } = deps.clients;
    const counting = new Proxy(real, {
      get: (target, name: keyof typeof real) => {
        if (typeof target[name] === 'function') asked.push(name);
        return target[name];
      },
    });
    await lookAtTrees({ ...deps, clients: { ...deps.clients, placement: counting } });
    expect(asked).toEqual(['providersInTree']);
    expect(sent).toEqual([]);
    expect(await incident()).toEqual([]);
  });

  it('restores a provider that was deleted by hand', async () => {
    await placement().deleteProvider(whole());
    expect(await sweep()).toEqual([{ hostname: host }]);
    expect(await incident()).toMatchObject([
      {
        reason: "Placement lacks 1 resource providers of the host's devices.",
        action: 'reconcile',
      },
    ]);
    await restore();
    expect(await differing()).toEqual([]);
    expect(await incident()).toEqual([]);
  });

  it('waits for nova-compute where the tree is lost with its compute node', async () => {
    await deleteTree();
    expect(await sweep()).toEqual([]);
    const [first] = await incident();
    expect(first?.reason).toMatch(/lacks 2 .+, and that of its compute node\.$/);
    expect(await sweep(3)).toEqual([]);
    expect((await incident())[0]?.since).toBe(first?.since);
    await world.startComputeNode(host);
    expect(await sweep(4)).toEqual([{ hostname: host }]);
    await restore(4);
    expect(await differing()).toEqual([]);
    expect(await incident()).toEqual([]);
  });

  it('leaves a device alone that was written within the last minute', async () => {
    await placement().deleteProvider(whole());
    expect(await sweep(0)).toEqual([]);
    expect(await incident()).toEqual([]);
  });

  it('leaves a device alone that Nova offers', async () => {
    const node = await placement().findProviderByName(host);
    await placement().deleteProvider(other());
    const name = `${host}_pci_0000_0d_00_0`;
    await placement().createProvider({
      uuid: crypto.randomUUID(),
      name,
      parentUuid: node?.uuid ?? '',
    });
    expect(await sweep()).toEqual([]);
    expect(await incident()).toEqual([]);
  });

  it('makes no summary of a host that is forgotten at that moment', async () => {
    const { deps } = later(24 * 60);
    const part = lostPart({ since: new Date().toISOString(), count: 1, isNodeLost: false }, 1);
    await forgetHost(deps, aCaller({ roles: ['admin'] }), host);
    const { inventory } = deps.store;
    expect(await inventory.putSummaryPart(host, part, new Date().toISOString())).toBe(false);
    expect(await inventory.hostSummary(host)).toBeUndefined();
  });
});

describe('the message of a host', () => {
  it('changes nothing when it comes late or twice', async () => {
    await placement().deleteProvider(whole());
    await restore();
    const { generation } = (await placement().getProvider(whole())) ?? {};
    await restore();
    expect((await placement().getProvider(whole()))?.generation).toBe(generation);
  });

  it('waits until the providers have been lost for 15 seconds: Nova may be deleting them', async () => {
    await placement().deleteProvider(whole());
    await sweep();
    const early = restoreTree(later(2.2).deps, host, 1);
    await expect(early).rejects.toMatchObject({ seconds: expect.closeTo(3) });
    expect(await placement().getProvider(whole())).toBeUndefined();
    await restoreTree(later(2.3).deps, host, 2);
    expect(await differing()).toEqual([]);
  });

  it('waits again where more providers are lost than at the last look', async () => {
    await placement().deleteProvider(whole());
    await sweep();
    await placement().deleteProvider(other());
    const early = restoreTree(later(2.3).deps, host, 1);
    await expect(early).rejects.toMatchObject({ seconds: 15 });
    expect(await placement().getProvider(whole())).toBeUndefined();
    await restoreTree(later(2.6).deps, host, 2);
    expect(await differing()).toEqual([]);
  });

  it('comes again while Placement is away', async () => {
    const providersInTree = () =>
      Promise.reject(new ServiceUnavailable('placement', 'http://p.test', 'out', true));
    const { deps } = later();
    const away = withClients(deps, { placement: { providersInTree } });
    await expect(restoreTree(away, host, 1)).rejects.toThrow(RetryLater);
  });

  it('writes the rest of a provider whose process died after its creation', async () => {
    await placement().deleteProvider(whole());
    const getTraits = () => Promise.reject(new Error('killed'));
    const dying = withClients(world.deps, { placement: { getTraits } });
    await expect(syncProviders(dying, whole(), 1)).rejects.toThrow('killed');
    expect((await placement().getInventories(whole()))?.inventories).toEqual({});
    expect(await sweep()).toEqual([{ hostname: host }]);
    await restore();
    expect(await differing()).toEqual([]);
  });

  it('restores the other devices where one cannot be written', async () => {
    const name = `${host}_FakeDevice`;
    await placement().deleteProvider(whole());
    await placement().deleteProvider(other());
    const taken = { uuid: crypto.randomUUID(), name };
    await placement().createProvider(taken);
    await restore();
    expect(await placement().getProvider(other())).toBeDefined();
    expect(await incident()).toMatchObject([{ reason: expect.stringContaining('lacks 1 ') }]);
    await placement().deleteProvider(taken.uuid);
    await restore();
    expect(await incident()).toEqual([]);
  });

  it('comes again soon where Nova deletes the compute node at that moment', async () => {
    await placement().deleteProvider(whole());
    const createProvider: ReturnType<typeof placement>['createProvider'] = async (provider) => {
      await deleteTree();
      return placement().createProvider(provider);
    };
    const racing = withClients(world.deps, { placement: { createProvider } });
    await expect(syncProviders(racing, whole(), 1)).rejects.toThrow(RetryLater);
    await world.startComputeNode(host);
    await restore();
    expect(await differing()).toEqual([]);
  });
});

describe('a change of a device', () => {
  it('writes a provider that Placement has lost at its second delivery, 15 seconds later', async () => {
    await placement().deleteProvider(whole());
    const { deps } = later();
    await expect(syncProviders(deps, whole(), 1)).rejects.toMatchObject({ seconds: 15 });
    expect(await placement().getProvider(whole())).toBeUndefined();
    await syncProviders(deps, whole(), 2);
    expect(await differing()).toEqual([]);
  });

  it('takes the provider that another sync has created at that moment', async () => {
    await placement().deleteProvider(whole());
    const createProvider: ReturnType<typeof placement>['createProvider'] = async (provider) => {
      await placement().createProvider(provider);
      return placement().createProvider(provider);
    };
    const racing = withClients(world.deps, { placement: { createProvider } });
    await syncProviders(racing, whole(), 1);
    expect(await differing()).toEqual([]);
  });

  it('writes a provider again at once where its device is new', async () => {
    await placement().deleteProvider(whole());
    await syncProviders(world.deps, whole(), 1);
    expect(await differing()).toEqual([]);
  });
});

describe('a device that a server holds', () => {
  it('goes to no other server when its allocation was deleted with its provider', async () => {
    const instance = 'aaaaaaaa-0000-4000-8000-00000000000a';
    await world.createProfile('fpga', { 'resources:FPGA': '1' });
    await world.createBound('fpga', { host, provider: other(), instance });
    expect(await allocate(world, instance, other())).toBe(204);
    expect(await placement().deleteProvider(other())).toBe('in-use');
    expect(await allocate(world, instance, undefined)).toBe(204);
    expect(await placement().deleteProvider(other())).toBe('deleted');
    await restore();
    expect((await differing())[0]?.placement).toContain(`bound without allocation: ${instance}`);
    expect(await reserved(other())).toBe(1);
    const handles = (await world.deps.store.inventory.provider(other()))?.handles ?? [];
    for (const { claim } of handles) {
      if (claim) expect(claim.instanceUuid).toBe(instance);
    }
    const free = handles.filter(({ claim }) => !claim).length;
    const arqs = await Promise.all(
      Array.from({ length: free + 1 }, () => world.createArqs('fpga')),
    );
    const statuses: number[] = [];
    for (const [at, [arq]] of arqs.entries()) {
      const target = { host, provider: other(), instance: instance.replace(/.$/, String(at)) };
      statuses.push((await world.bindArqs(arq, target)).status);
    }
    expect(statuses).toEqual([...Array(free).fill(202), 409]);
    // The reaper finds no allocation: neither a lagging Nova nor the right answer ends the marks.
    const found = { projectId: 'demo', host };
    for (const [minutes, server] of [
      [2, 'not-found'],
      [4, 'not-found'],
      [5, found],
    ] as const) {
      await reap(withClients(later(minutes).deps, { nova: { server: async () => server } }));
    }
    await syncProviders(world.deps, other(), 1);
    expect(await reserved(other())).toBe(1);
    await world.deleteArqsOf(instance);
    await syncProviders(world.deps, other(), 1);
    expect(await reserved(other())).toBe(0);
  });
});
