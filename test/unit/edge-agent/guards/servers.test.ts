// Functions that libvirt's definitions of servers name, running or stopped.

import { beforeEach, describe, expect, it } from 'vitest';
import { type Guards, openGuards } from '#agent/guards/guards.ts';
import { readServerUses } from '#agent/guards/server-uses.ts';
import { type PciFunction, readPciFunctionAt, readPciFunctions } from '#agent/sysfs/pci.ts';
import { aGuardedHost, nothingOffered } from '#test/support/hosts/guarded-host.ts';
import { perTest } from '#test/support/vitest/shared.ts';

const card = '0000:c1:00.0';
const mate = '0000:c1:00.1';
const name = 'instance-0000001f';
const belongs = `belongs to a server: the domain ${name} of libvirt has it`;

const host = perTest(aGuardedHost);
let guards: Guards;

beforeEach(async () => {
  guards = await host.guards();
});

/** Why functions are refused, where the operator gave these to the agent. */
async function refusals(...wanted: readonly string[]): Promise<Record<string, string>> {
  const all = readPciFunctions(host.sysfs, () => {});
  const isOurs = ({ address }: PciFunction) => wanted.includes(address);
  const found = await guards.check({ driver: 'pci', wanted: all.filter(isOurs), all, isOurs });
  return Object.fromEntries(found);
}

function at(address: string): PciFunction {
  const fn = readPciFunctionAt(host.sysfs, address);
  if (!fn) throw new Error(`${address} is not there.`);
  return fn;
}

describe('a function that a server has', () => {
  beforeEach(() => host.tree.addFunction({ address: card }));

  it('is refused until the definition has gone', async () => {
    host.domains.define(name, [card]);
    expect(await refusals(card)).toEqual({ [card]: belongs });
    host.domains.undefine(name);
    expect(await refusals(card)).toEqual({});
  });

  it('is not refused if the agent has offered it before, also after its restart', async () => {
    expect(await refusals(card)).toEqual({});
    host.domains.define(name, [card]);
    expect(await refusals(card)).toEqual({});
    guards = await host.guards();
    expect(await refusals(card)).toEqual({});
  });

  it('is refused to another driver of the agent, which has never offered it', async () => {
    expect(await refusals(card)).toEqual({});
    host.domains.define(name, [card]);
    const all = [at(card)];
    const asked = { driver: 'nvidia_gpu', wanted: all, all, isOurs: () => true };
    expect([...(await guards.check(asked))]).toEqual([[card, belongs]]);
  });

  it('may be prepared: an evacuated server is defined until nova-compute is back', async () => {
    host.domains.define(name, [card]);
    expect(await guards.recheck(card, () => true)).toBeUndefined();
  });

  it('that runs is refused for its open node', async () => {
    host.domains.define(name, [card]);
    host.openVfio(card);
    const open = `is open: process 31 (qemu) uses /dev/vfio/${at(card).iommuGroup}`;
    expect(await refusals(card)).toEqual({ [card]: open });
  });

  it('names a domain that is shown printable and short', async () => {
    const shown = `?[31m${'n'.repeat(75)}...`;
    host.domains.define(`\u009b[31m${'n'.repeat(100)}`, [card]);
    expect(await refusals(card)).toEqual({ [card]: belongs.replace(name, shown) });
  });

  it('says nothing of the function beside it', async () => {
    host.tree.addFunction({ address: mate });
    host.domains.define(name, [mate]);
    expect(await refusals(card)).toEqual({});
  });
});

describe('a function that stays on the list of offered functions', () => {
  beforeEach(async () => {
    host.tree.addFunction({ address: card });
    expect(await refusals(card)).toEqual({});
  });
  const none = { [card]: 'cannot be cleaned between guests: it has no reset method' };
  const setReset = (method: string) =>
    host.tree.write(`${host.tree.pathOf(card)}/reset_method`, `${method}\n`);

  it.each<[string, () => unknown]>([
    ['one of a stopped server', () => host.domains.define(name, [card])],
    ['one that a stopped server may have', () => host.domains.write(`${name}.xml`, '<domain>')],
  ])('is %s while another reason refuses it', async (_what, define) => {
    define();
    setReset('');
    expect(await refusals(card)).toEqual(none);
    setReset('flr');
    expect(await refusals(card)).toEqual({});
  });

  it('is not one that no server has while another reason refuses it', async () => {
    setReset('');
    expect(await refusals(card)).toEqual(none);
    host.domains.define(name, [card]);
    setReset('flr');
    expect(await refusals(card)).toEqual({ [card]: belongs });
  });

  it('is not one whose mate alone a server has while another reason refuses it', async () => {
    const group = Number(at(card).iommuGroup);
    host.tree.addFunction({ address: mate, iommuGroup: group, driver: undefined });
    host.domains.define(name, [mate]);
    expect(await refusals(card)).toEqual({});
    setReset('');
    expect(await refusals(card)).toEqual(none);
    setReset('flr');
    const shares = `shares IOMMU group ${group} with ${mate}, which ${belongs}`;
    expect(await refusals(card)).toEqual({ [card]: shares });
  });
});

describe('definitions that cannot be read', () => {
  beforeEach(() => void host.tree.addFunction({ address: card }));

  it('refuse what was never offered, and nothing else', async () => {
    expect(await refusals(card)).toEqual({});
    host.tree.addFunction({ address: mate });
    host.domains.write('a.xml', '<domain>').define(name, ['0000:c3:00.0']);
    host.tree.addFunction({ address: '0000:c3:00.0' });
    const reason = "may be in use: libvirt's definition a.xml ends within domain";
    expect(await refusals(card, mate, '0000:c3:00.0')).toEqual({
      [mate]: reason,
      '0000:c3:00.0': belongs,
    });
    host.domains.undefine('a');
    expect(await refusals(card, mate)).toEqual({});
  });

  it('change nothing in what is prepared or set up', async () => {
    host.domains.write('a.xml', '<domain>');
    expect(await guards.recheck(card, () => true)).toBeUndefined();
    expect([...(await guards.heldBy([at(card)], true))]).toEqual([]);
  });

  it('are the same as a sysfs that cannot be read', async () => {
    const { sysfs } = host;
    const failing = {
      ...sysfs,
      list: () => {
        throw Object.assign(new Error('no'), { code: 'EIO' });
      },
    };
    const { hardware } = host;
    const broken = openGuards({
      sysfs: failing,
      hardware,
      ownPid: '4711',
      proc: { list: () => ['1'], linkTarget: () => undefined, read: () => '' },
      offeredBefore: nothingOffered,
      readDomains: async () => ({ domains: [], byFunction: new Map([[card, name]]) }),
    });
    const reason = 'may be in use: sysfs cannot be read (EIO)';
    const all = [at(card)];
    const asked = { driver: 'pci', wanted: all, all, isOurs: () => true };
    expect([...(await broken.check(asked))]).toEqual([[card, reason]]);
    expect(await broken.ofServers(all)).toEqual({
      held: new Map(),
      unknown: 'sysfs cannot be read (EIO)',
    });
    const domains = { domains: [], byFunction: new Map([[card, name]]) };
    const uses = readServerUses(
      { ...sysfs, list: (path) => (path.startsWith('kernel') ? failing.list() : sysfs.list(path)) },
      domains,
    );
    expect(uses(at(card))).toEqual([{ address: card, as: 'itself', clause: reason }]);
  });
});

describe('what goes with a function of a server', () => {
  it.each([
    ['on vfio-pci', 'vfio-pci'],
    ['without a driver', undefined],
  ])('is its IOMMU group: a mate %s', async (_what, driver) => {
    host.tree.addFunction({ address: card, iommuGroup: 7 });
    host.tree.addFunction({ address: mate, iommuGroup: 7, driver });
    host.domains.define(name, [mate]);
    expect(await refusals(card, mate)).toEqual({
      [card]: `shares IOMMU group 7 with ${mate}, which ${belongs}`,
      [mate]: belongs,
    });
  });

  it('is its card, which is not offered as a whole', async () => {
    host.tree.addFunction({ address: card, sriovTotalvfs: 4 });
    host.tree.addVirtualFunctions(card, 2);
    host.domains.define(name, ['0000:c1:00.2']);
    const whole = `has the virtual function 0000:c1:00.2, which ${belongs}`;
    expect(await refusals(card, mate, '0000:c1:00.2')).toEqual({
      [card]: whole,
      '0000:c1:00.2': belongs,
    });
  });

  it('are the virtual functions of a card', async () => {
    host.tree.addFunction({ address: card, sriovTotalvfs: 4 });
    host.tree.addVirtualFunctions(card, 1);
    host.domains.define(name, [card]);
    expect(await refusals(mate)).toEqual({
      [mate]: `is a virtual function of ${card}, which ${belongs}`,
    });
  });
});

describe('a virtual function that the host has not made yet', () => {
  const give = (offset: string, stride: string) => {
    host.tree.addFunction({ address: card, sriovTotalvfs: 4 });
    const path = host.tree.pathOf(card);
    if (offset) host.tree.write(`${path}/sriov_offset`, `${offset}\n`);
    if (stride) host.tree.write(`${path}/sriov_stride`, `${stride}\n`);
  };

  it.each([
    ['the first', '128', '2', '0000:c1:10.0', true],
    ['the last', '128', '2', '0000:c1:10.6', true],
    ['one beyond the last', '128', '2', '0000:c1:11.0', false],
    ['one between two', '128', '2', '0000:c1:10.1', false],
    ['one before the first', '128', '2', '0000:c1:0f.6', false],
    ['one on the next bus', '256', '1', '0000:c2:00.3', true],
    ['one in another domain', '256', '1', '0001:c2:00.3', false],
    ['the only one', '1', '0', '0000:c1:00.1', true],
    ['one on the bus of a card that does not tell', '', '', '0000:c1:1f.7', true],
    ['one on the bus of a card that tells zero', '0', '0', '0000:c1:1f.7', true],
    ['one on another bus than the card that does not tell', '', '', '0000:c2:00.0', false],
  ])('keeps the card from being offered: %s', async (_what, offset, stride, address, isOf) => {
    give(offset, stride);
    host.domains.define(name, [address]);
    const reason = `has the virtual function ${address}, which ${belongs}`;
    expect(await refusals(card)).toEqual(isOf ? { [card]: reason } : {});
  });

  it('says nothing of a card that can have none', async () => {
    host.tree.addFunction({ address: card });
    host.domains.define(name, [mate]);
    expect(await refusals(card)).toEqual({});
  });

  it('is none if a function of its address exists, which is of no card', async () => {
    give('1', '1');
    host.tree.addFunction({ address: mate });
    host.domains.define(name, [mate]);
    expect(await refusals(card)).toEqual({});
  });
});

describe('the set-up of the host', () => {
  const held = async (...addresses: string[]) =>
    Object.fromEntries(await guards.heldBy(addresses.map(at), true));

  it('does not touch a function of a server, nor its mates and virtual functions', async () => {
    host.tree.addFunction({ address: card, iommuGroup: 7, sriovTotalvfs: 4 });
    host.tree.addFunction({ address: '0000:c1:00.7', iommuGroup: 7 });
    host.tree.addVirtualFunctions(card, 1);
    host.domains.define(name, [card]);
    expect(await held(card, '0000:c1:00.7', mate)).toEqual({
      [card]: belongs,
      '0000:c1:00.7': `shares IOMMU group 7 with ${card}, which ${belongs}`,
      [mate]: `is a virtual function of ${card}, which ${belongs}`,
    });
  });

  it('works on a function that is offered, and on what goes with it', async () => {
    host.tree.addFunction({ address: card, iommuGroup: 7 });
    host.tree.addFunction({ address: mate, iommuGroup: 7, classCode: '040300', driver: undefined });
    expect(await refusals(card)).toEqual({});
    host.domains.define(name, [card]);
    expect(await held(card, mate)).toEqual({});
  });

  it('makes virtual functions of a card: servers have some of them after a boot', async () => {
    host.tree.addFunction({ address: card, sriovTotalvfs: 4 });
    host.domains.define(name, [mate]);
    expect(await held(card)).toEqual({});
  });
});

describe('functions of servers', () => {
  it('are told to a driver, offered or not, with what is not known', async () => {
    host.tree.addFunction({ address: card });
    expect(await refusals(card)).toEqual({});
    host.domains.define(name, [card]);
    expect(await guards.ofServers([at(card)])).toEqual({ held: new Map([[card, belongs]]) });
    host.domains.write('a.xml', '');
    const unknown = "libvirt's definition a.xml has no element";
    expect(await guards.ofServers([at(card)])).toMatchObject({ unknown });
  });
});
