// The board of the group `Pools`: two NUMA nodes, each with an expander bridge of PCIe. Below each
// bridge are two root ports, and a switch below the first. An NVMe controller is at each end.

interface Spot {
  readonly numa: 0 | 1;
  /** The address of the root port. */
  readonly root: string;
  readonly isBelowSwitch: boolean;
}

const [withSwitch0, alone0] = ['0000:40:00.0', '0000:40:01.0'] as const;
const [withSwitch1, alone1] = ['0000:80:00.0', '0000:80:01.0'] as const;

/** By the serial numbers of the controllers: firmware and kernel number what is below a port. */
const spots = {
  a: { numa: 0, root: withSwitch0, isBelowSwitch: true },
  b: { numa: 0, root: withSwitch0, isBelowSwitch: true },
  c: { numa: 0, root: alone0, isBelowSwitch: false },
  d: { numa: 1, root: withSwitch1, isBelowSwitch: true },
  e0: { numa: 1, root: withSwitch1, isBelowSwitch: true },
  e1: { numa: 1, root: withSwitch1, isBelowSwitch: true },
  f: { numa: 1, root: alone1, isBelowSwitch: false },
} satisfies Readonly<Record<string, Spot>>;
export type Serial = keyof typeof spots;

const devices = [
  'pxb-pcie,id=host0,bus=pcie.0,addr=10.0,bus_nr=0x40,numa_node=0',
  'pxb-pcie,id=host1,bus=pcie.0,addr=11.0,bus_nr=0x80,numa_node=1',
  // Without access control (ACS), the switch and all below it are one IOMMU group.
  'pcie-root-port,id=root0,bus=host0,addr=00.0,slot=3,disable-acs=on',
  'x3130-upstream,id=switch0,bus=root0',
  'xio3130-downstream,id=port0,bus=switch0,addr=00.0,slot=4',
  'xio3130-downstream,id=port1,bus=switch0,addr=01.0,slot=5',
  'nvme,serial=a,bus=port0',
  'nvme,serial=b,bus=port1',
  'pcie-root-port,id=root1,bus=host0,addr=01.0,slot=6',
  'nvme,serial=c,bus=root1',
  'pcie-root-port,id=root2,bus=host1,addr=00.0,slot=7',
  'x3130-upstream,id=switch1,bus=root2',
  'xio3130-downstream,id=port2,bus=switch1,addr=00.0,slot=8',
  'xio3130-downstream,id=port3,bus=switch1,addr=01.0,slot=9',
  'nvme,serial=d,bus=port2',
  // Two functions of one device, without access control between them: one IOMMU group.
  'nvme,serial=e0,bus=port3,addr=00.0,multifunction=on',
  'nvme,serial=e1,id=disk,bus=port3,addr=00.1',
  'pcie-root-port,id=root3,bus=host1,addr=01.0,slot=10',
  'nvme,serial=f,bus=root3',
];

export const numaBoard = {
  spots,
  /** Controllers that share an IOMMU group. */
  sets: [
    ['a', 'b'],
    ['e0', 'e1'],
  ] satisfies readonly (readonly Serial[])[],
  /** The id of controller `e1`, which has a namespace. */
  withDisk: 'disk',
  /** Arguments of QEMU: half of the memory and one of two CPUs are on each node. */
  devices: [
    ...[0, 1].flatMap((node) => [
      ...['-object', `memory-backend-ram,id=memory${node},size=512M`],
      ...['-numa', `node,nodeid=${node},cpus=${node},memdev=memory${node}`],
    ]),
    ...devices.flatMap((device) => ['-device', device]),
  ],
};
