import { describe, expect, it } from 'vitest';
import { createLinkFaults } from '#agent/faults/link-faults.ts';
import { openHardware } from '#agent/hardware/port.ts';
import { createDiscovery } from '#agent/report/discover.ts';
import { openSysfs } from '#agent/sysfs/root.ts';
import { aClock, aDriver, aLog, aReportedDevice } from '#test/support/hosts/agent.ts';
import { aSysfsTree } from '#test/support/hosts/sysfs.ts';

const [root, upstream, downstream] = ['0000:00:01.1', '0000:01:00.0', '0000:02:00.0'];
const [nic, gpu] = ['0000:03:00.0', '0000:3b:00.0'];
const gpuRoot = '0000:00:02.1';
const everyMs = 600_000;

interface LinkFields {
  readonly width?: string;
  readonly widthMax?: string;
  readonly speed?: string;
  readonly speedMax?: string;
}

function aHost() {
  const bridge = { vendor: '8086', classCode: '060400', driver: 'pcieport' };
  const tree = aSysfsTree()
    .addFunction({ address: root, ...bridge })
    .addFunction({ address: upstream, ...bridge, below: root })
    .addFunction({ address: downstream, ...bridge, below: upstream })
    .addFunction({ address: nic, classCode: '020000', driver: 'mlx5_core', below: downstream })
    .addFunction({ address: gpuRoot, ...bridge })
    .addFunction({ address: gpu, classCode: '030200', below: gpuRoot });
  const setLink = (address: string, fields: LinkFields = {}) => {
    const { width = '16', widthMax = '16', speed = '16.0', speedMax = '16.0' } = fields;
    const path = tree.pathOf(address);
    tree.write(`${path}/current_link_width`, `${width}\n`);
    tree.write(`${path}/max_link_width`, `${widthMax}\n`);
    tree.write(`${path}/current_link_speed`, `${speed} GT/s PCIe\n`);
    tree.write(`${path}/max_link_speed`, `${speedMax} GT/s PCIe\n`);
  };
  for (const each of [root, upstream, downstream, nic, gpuRoot, gpu]) setLink(each);
  const setSleep = (state: string) =>
    tree.write(`${tree.pathOf(gpu)}/power/runtime_status`, `${state}\n`);
  setSleep('suspended');
  const clock = aClock();
  const log = aLog();
  const sysfs = openSysfs(tree.root);
  const links = createLinkFaults({ sysfs, hardware: openHardware({ sysfs, clock }), clock, log });
  const look = async (address: string, times = 2) => {
    for (let count = 0; count < times; count += 1) {
      await links.look([aReportedDevice({ address })]);
      await clock.advance(everyMs);
    }
    return links.healthOf(address)?.reason;
  };
  return { tree, clock, log, links, setLink, setSleep, look };
}

describe('a PCIe link', () => {
  it.each<[string, LinkFields, LinkFields, string | undefined]>([
    ['is whole', {}, {}, undefined],
    ['has one lane', { width: '1' }, { width: '1' }, 'one lane at the port 0000:02:00.0, where 16'],
    ['has one lane in a slot of one', { width: '1' }, { width: '1', widthMax: '1' }, undefined],
    ['has half of its lanes', { width: '8' }, { width: '8' }, undefined],
    ['is of generation 1', { speed: '2.5' }, { speed: '2.5' }, '2.5 GT/s at the port 0000:02:00.0'],
    ['is of generation 1 below such a port', { speed: '2.5' }, { speedMax: '2.5' }, undefined],
    ['is slower than it could', { speed: '8.0' }, { speed: '8.0' }, undefined],
    ['is not known', { width: '0', speed: 'Unknown' }, { widthMax: '255' }, undefined],
  ])('of a card %s', async (_what, below, above, reason) => {
    const { setLink, look } = aHost();
    setLink(nic, below);
    setLink(downstream, above);
    expect(await look(nic)).toEqual(reason && expect.stringContaining(reason));
  });

  it('above the switch of a card counts, too', async () => {
    const { setLink, look, links, log } = aHost();
    setLink(root, { width: '1' });
    setLink(upstream, { width: '1' });
    expect(await look(nic)).toBe(
      `has a PCIe link of one lane at the port ${root}, where 16 are possible`,
    );
    expect(links.healthOf(nic)).toMatchObject({
      state: 'degraded',
      since: '1970-01-01T00:00:00.000Z',
      next_step: expect.stringContaining('Seat the card anew'),
    });
    expect(log.lines).toMatchObject([{ message: 'PCIe link slow', address: nic }]);
  });

  it('is looked at again at once if it is slow, and then every ten minutes', async () => {
    const { setLink, links, clock } = aHost();
    const device = aReportedDevice({ address: nic });
    setLink(nic, { width: '1' });
    await links.look([device]);
    expect(links.healthOf(nic)).toBeUndefined();
    setLink(nic);
    await links.look([device]);
    setLink(nic, { width: '1' });
    await clock.advance(everyMs - 1);
    await links.look([device]);
    await links.look([device]);
    expect(links.healthOf(nic)).toBeUndefined();
    await clock.advance(1);
    await links.look([device]);
    await links.look([device]);
    expect(links.healthOf(nic)?.state).toBe('degraded');
    setLink(nic);
    await clock.advance(everyMs);
    await links.look([device]);
    expect(links.healthOf(nic)).toBeUndefined();
  });
});

describe('the link of a GPU', () => {
  it('may be slow while it sleeps, but not narrow', async () => {
    const { setLink, look } = aHost();
    setLink(gpu, { speed: '2.5' });
    expect(await look(gpu)).toBeUndefined();
    setLink(gpu, { speed: '2.5', width: '1' });
    expect(await look(gpu)).toContain(`one lane at the port ${gpuRoot}`);
  });

  it('may be narrow while a driver runs it, and what was seen before stays', async () => {
    const { setLink, setSleep, look } = aHost();
    setLink(gpu, { width: '1' });
    setSleep('active');
    expect(await look(gpu)).toBeUndefined();
    setSleep('suspended');
    expect(await look(gpu)).toContain('one lane');
    setLink(gpu);
    setSleep('active');
    expect(await look(gpu)).toContain('one lane');
    setSleep('suspended');
    expect(await look(gpu)).toBeUndefined();
  });

  it('is not read while the GPU has no power', async () => {
    const { tree, setLink, look } = aHost();
    setLink(gpu, { width: '1' });
    tree.write(`${tree.pathOf(gpu)}/power_state`, 'D3cold\n');
    expect(await look(gpu)).toBeUndefined();
  });

  it('is that of its virtual functions and of its pool, in the report', async () => {
    const { tree, setLink, links, clock, log } = aHost();
    tree.addVirtualFunctions(gpu, 1);
    setLink(gpu, { width: '1' });
    const info = { domain: '0000', bus: '3b', device: '00', function: '1' };
    const handles = [{ type: 'PCI' as const, info }];
    const offers = { resource_class: 'PGPU', traits: [], attach_handles: handles };
    const pool = aReportedDevice({ address: 'gpus', offers });
    const discover = createDiscovery({
      drivers: [aDriver('one', pool)],
      faults: [links],
      clock,
      log,
    });
    await discover();
    const { devices } = await discover();
    expect(devices.map(({ device }) => device.health?.state)).toEqual(['degraded']);
  });
});
