import { describe, expect, it } from 'vitest';
import { faultRows } from '#agent/faults/fault-rows.ts';
import { aFaultHost, gpu, nic } from '#test/support/faults/fault-host.ts';

const range = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index);

/**
 * The immediate actions of NVIDIA's catalogue of October 2025, for Ampere and later. It has no
 * action for 162 to 172.
 */
const actions: Readonly<Record<string, readonly number[]>> = {
  RESET_GPU: [46, 62, 64, 95, 109, 110, 119, 120, 136, 140, 143, 155, 156, 158],
  RESTART_BM: [79],
  CHECK_MECHANICALS: [54],
  RESTART_VM: [151],
  WORKFLOW: [48, 74, ...range(144, 150), 154],
  RESTART_APP: [
    ...[8, 11, 13, 25, 31, 32, 39, 40, 41, 60, 68, 69, 70, 71, 72, 75, 76, 77, 80],
    ...[...range(82, 86), 88, 89, 94, ...range(96, 105), ...range(126, 135), 139],
  ],
  IGNORE: [
    ...[37, 38, 43, 44, 63, 66, 67, 92, 93, 106, 107, 121, 137, 141, 152, 153, 157, 160, 161],
  ],
  OTHER: [45, 78, 142, 159],
};

/** The Xids that nverror.h of the branch has, and that of the branch before does not. */
const branches: Readonly<Record<number, readonly number[]>> = {
  515: [
    ...[13, 14, ...range(19, 23), ...range(27, 36), ...range(39, 45), 47, 48, ...range(59, 65)],
    ...[...range(68, 95), 119, 120, 121],
  ],
  520: [110, ...range(122, 125)],
  525: [16, ...range(96, 105), 136, 140, 143],
  530: [137],
  535: [138, 139],
  550: [58, 108, 141, 144],
  555: range(145, 151),
  560: [...range(126, 135), 152, 153],
  565: [154],
  570: [142, 155, 157],
  575: [156, ...range(158, 161)],
  580: range(162, 173),
  590: [174],
  595: [175, 176],
};

const numberOf = (id: string) => Number(/^xid-(\d+)/.exec(id)?.[1]);
const rows = faultRows.filter(({ id }) => id.startsWith('xid-'));
const withRows = new Set(rows.map(({ id }) => numberOf(id)));
const severitiesOf = (number: number) =>
  rows.filter(({ id }) => numberOf(id) === number).map(({ severity }) => severity);

describe("NVIDIA's catalogue of Xids", () => {
  it.each(['RESET_GPU', 'RESTART_BM', 'CHECK_MECHANICALS'])('%s is a fatal fault', (action) => {
    // Software takes down links, too (155).
    const others = actions[action]?.filter((number) => !severitiesOf(number).includes('fatal'));
    expect(others).toEqual(action === 'RESET_GPU' ? [155] : []);
  });

  it.each(['RESTART_VM', 'WORKFLOW'])('%s is a fault', (action) => {
    expect(actions[action]?.filter((number) => !withRows.has(number))).toEqual([]);
  });

  it.each([
    // A contained error of memory.
    ['RESTART_APP', [94]],
    // Rows that are remapped or could not be retired, and many corrected errors.
    ['IGNORE', [63, 92, 157]],
    ['OTHER', []],
  ])('%s is no fault of the device, but for a warning', (action, warnings) => {
    const faults = actions[action]?.filter((number) => withRows.has(number)) ?? [];
    expect(faults).toEqual(warnings);
    expect(faults.flatMap(severitiesOf)).toEqual(faults.map(() => 'warning'));
  });

  it('names the Xids that the drivers have', () => {
    const named = new Set([...Object.values(actions), ...Object.values(branches)].flat());
    expect([...withRows].filter((number) => !named.has(number))).toEqual([]);
    // No header of the open drivers has these; the catalogue does.
    const headers = new Set(Object.values(branches).flat());
    expect([...withRows].filter((number) => !headers.has(number))).toEqual([46, 54, 109]);
    const later = Object.values(branches).flat();
    const unnamed = later.filter((number) => number > 161 && !withRows.has(number));
    // Power smoothing, links of confidential computing, a killed process and a corrected error.
    expect(unnamed).toEqual([162, 163, 164, 165, 166, 170, 174, 176]);
  });
});

describe('an SXid', () => {
  const [nvswitch, sxm, sxmElsewhere, pcie] = [
    '0000:07:00.0',
    '0000:18:00.0',
    '0001:18:00.0',
    '0000:19:00.0',
  ];
  const ofSxm = { address: '0000:18:00.4' };
  const line = (severity: string, address = nvswitch) =>
    `nvidia-nvswitch0: SXid (PCI:${address}): 20034, ${severity}, Link 30 LTSSM Fault Up`;
  const aBoard = (driver = 'nvidia-nvswitch') => {
    const host = aFaultHost();
    host.tree
      .addFunction({ address: nvswitch, product: '22a3', classCode: '068000', driver })
      .addFunction({ address: sxm, product: '2330', classCode: '030200' })
      .addFunction({ address: sxmElsewhere, product: '2330', classCode: '030200' })
      .addFunction({ address: pcie, product: '2331', classCode: '030200' })
      .addFunction({ ...ofSxm, product: '2330', classCode: '030200', physicalFunction: sxm });
    return host;
  };

  it('is a fault of the GPUs that the NVSwitch links, if it is fatal', async () => {
    const faults = await aBoard().read([line('Fatal')]);
    expect([sxm, sxmElsewhere].map((each) => faults.healthOf(each)?.reason)).toEqual(
      Array(2).fill(
        `is linked by the NVSwitch ${nvswitch}, which has had a fatal SXid in the kernel log`,
      ),
    );
    expect(faults.healthOf(nvswitch)?.state).toBe('unhealthy');
    expect([pcie, nic, ofSxm.address].map(faults.healthOf)).toEqual(Array(3).fill(undefined));
  });

  it('is one also after a PCIe error of the NVSwitch, which is not', async () => {
    const error = [
      `nvidia-nvswitch ${nvswitch}: PCIe Bus Error: severity=Uncorrectable (Fatal), type=Transaction Layer, (Receiver ID)`,
    ];
    for (const lines of [
      [...error, line('Fatal')],
      [line('Fatal'), ...error],
    ]) {
      const faults = await aBoard().read(lines);
      expect(faults.healthOf(sxm)?.reason).toContain('which has had a fatal SXid');
    }
    expect((await aBoard().read(error)).healthOf(sxm)).toBeUndefined();
  });

  it.each([
    ['Non-fatal', 'nvidia-nvswitch', nvswitch],
    ['Fatal', 'vfio-pci', nvswitch],
    ['Fatal', 'nvidia-nvswitch', sxm],
    ['Fatal', 'nvidia-nvswitch', '0000:08:00.0'],
  ])('that is %s, with driver %s, at %s is a fault of none', async (severity, driver, address) => {
    const faults = await aBoard(driver).read([line(severity, address)]);
    expect([nvswitch, sxm, sxmElsewhere, pcie, gpu].map(faults.healthOf)).toEqual(
      Array(5).fill(undefined),
    );
  });

  it('that repeats itself keeps no other device waiting', async () => {
    const last = `mlx5_core ${nic}: Fatal error 1 detected`;
    const faults = await aBoard().read([...Array(15_000).fill(line('Fatal')), last], 0);
    expect(faults.healthOf(nic)?.state).toBe('unhealthy');
  });
});
