// A card whose audio and USB functions nova.conf names beside its GPU.

import { describe, expect, it } from 'vitest';
import { readNovaConf } from '#core/contracts/nova/nova-conf.ts';
import { readFlavors } from '#operate/import/nova/flavors.ts';
import { planNova } from '#operate/import/nova/plan.ts';

const device = (vendor: string, product: string) =>
  JSON.stringify({ vendor_id: vendor, product_id: product });
const alias = (name: string, vendor: string, product: string) =>
  JSON.stringify({ name, vendor_id: vendor, product_id: product, device_type: 'type-PCI' });

function plan(devices: readonly (readonly [string, string, string])[], asked: string) {
  const lines = devices.flatMap(([name, vendor, product]) => [
    `device_spec = ${device(vendor, product)}`,
    `alias = ${alias(name, vendor, product)}`,
  ]);
  const flavor = { ID: '1', Name: 'f', RAM: 64, Disk: 1, VCPUs: 2, 'Is Public': true, Swap: 0 };
  const properties = { 'pci_passthrough:alias': asked };
  return planNova({
    options: readNovaConf([{ path: 'nova.conf', text: ['[pci]', ...lines].join('\n') }]),
    flavors: readFlavors(JSON.stringify([{ ...flavor, Properties: properties }])),
    stored: undefined,
    mdevTraits: new Map(),
    isMdevAttached: false,
    skipped: new Set(),
  });
}

const verdicts = ({ rows }: ReturnType<typeof plan>, what: string) =>
  Object.fromEntries(rows.filter((row) => row.what === what).map((row) => [row.name, row.verdict]));

const turing = [
  ['gpu', '10de', '1e04'],
  ['audio', '10de', '10f7'],
  ['usb', '10de', '1ad6'],
  ['bus', '10de', '1ad7'],
] as const;

describe('audio and USB functions of a GPU', () => {
  it('are companions of the GPU: one resource in the profile, and a note', () => {
    const moved = plan(turing, 'gpu:2,audio:2,usb:2,bus:2');
    expect(moved.settings?.pci?.allow_list).toEqual([
      {
        vendor_id: '10de',
        product_id: '1e04',
        resource_class: 'CUSTOM_PCI_10DE_1E04',
        companions: true,
      },
    ]);
    const [asked] = moved.flavors;
    const group = {
      'resources:CUSTOM_PCI_10DE_1E04': '1',
      'trait:OWNER_CYBORG': 'required',
    };
    expect(asked).toMatchObject({
      verdict: 'move',
      profile: { name: 'gpu-x2', groups: [group, group] },
    });
    expect(verdicts(moved, 'alias')).toEqual({
      gpu: 'move',
      audio: 'move',
      usb: 'move',
      bus: 'move',
    });
    expect(moved.profiles.map(({ name }) => name).sort()).toEqual(['gpu', 'gpu-x2']);
    expect(moved.rows.find(({ name }) => name === 'audio')?.note).toContain('goes with its card');
  });

  it('stay if a flavor asks for more of them than it has cards', () => {
    const [asked] = plan(turing, 'gpu:1,audio:2').flavors;
    expect(asked).toMatchObject({
      verdict: 'stay',
      notes: ['alias audio asks for 2 functions that go with 1 cards'],
    });
  });

  it('stay without a GPU of their vendor that moves', () => {
    const alone = plan(
      [
        ['audio', '10de', '10f7'],
        ['other', '1002', '740f'],
      ],
      'audio:1',
    );
    expect(verdicts(alone, 'alias')).toMatchObject({ audio: 'stay' });
    expect(alone.flavors[0]).toMatchObject({ verdict: 'stay' });
    expect(alone.rows.filter(({ what }) => what === 'device_spec')[0]).toMatchObject({
      verdict: 'stay',
      note: expect.stringContaining('it is a function of a card with a GPU'),
    });
  });

  it('of one vendor do not go with a card of another one', () => {
    const both = plan(
      [
        ['gpu', '10de', '1e04'],
        ['audio', '1002', 'ab28'],
      ],
      'gpu:1',
    );
    expect(verdicts(both, 'alias')).toEqual({ gpu: 'move', audio: 'stay' });
    expect(both.settings?.pci?.allow_list[0]).not.toHaveProperty('companions');
  });
});
