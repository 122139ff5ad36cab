// Settings for a host that has none: each accelerator, NVMe device and network card as a whole.

import { aiChips } from '#agent/drivers/by-model/ai-chips.ts';
import { isFpga } from '#agent/drivers/pci/naming/ids.ts';
import { modelName } from '#agent/drivers/pci/naming/names.ts';
import { qatFamilies } from '#agent/drivers/qat/families.ts';
import type { HostRecord, RecordedFunction } from '#agent/record/host-record.ts';

/** Whole cards only: a virtual function goes with its physical one. */
export function driverFor({ ids, classCode, values }: RecordedFunction): string | undefined {
  const [vendorId = '', productId = ''] = ids.split(':');
  // A listing does not say whose virtual function one is.
  const isVirtual = /\bVF$|Virtual Function/.test(modelName({ vendorId, productId }) ?? '');
  if (values.physical !== undefined || isVirtual) return undefined;
  const isModel = aiChips.rows.some(
    ({ vendor_id: id, product_ids }) => id === vendorId && product_ids.includes(productId),
  );
  if (isModel) return 'ai_chip';
  if (vendorId === '8086' && Object.hasOwn(qatFamilies, productId)) return 'qat';
  if (classCode.startsWith('03')) return vendorId === '10de' ? 'nvidia_gpu' : 'pci';
  if (classCode.startsWith('0108')) return 'nvme';
  if (/^02(00|07|80)/.test(classCode)) return 'nic';
  // Memory and serial controllers: defaults of XDMA, which need a device_type.
  if (/^(0580|0700)/.test(classCode) && isFpga({ vendorId, productId })) return 'pci';
  return /^(12|0b4)/.test(classCode) ? 'pci' : undefined;
}

type ToSettings = (addresses: readonly string[], functions: readonly RecordedFunction[]) => unknown;

/** Driver → its settings. */
export const wholeSettings: Readonly<Record<string, ToSettings>> = {
  nvidia_gpu: (addresses) => ({ cards: [{ addresses }] }),
  nic: (addresses) => ({ cards: [{ addresses, virtual_functions: false, clean: 'none' }] }),
  qat: (addresses) => ({ cards: [{ addresses, virtual_functions: false }] }),
  nvme: (devices) => ({ devices }),
  ai_chip: (addresses) => ({ devices: [{ addresses }] }),
  // With ids: another card may sit at the address after a boot.
  pci: (addresses, functions) => ({
    allow_list: addresses.map((address) => ({
      address,
      ...toIds(functions.find((each) => each.address === address)),
    })),
  }),
};

function toIds(fn: RecordedFunction | undefined) {
  const [vendor_id = '', product_id = ''] = fn?.ids.split(':') ?? [];
  return fn ? { vendor_id, product_id } : {};
}

/** The stage of a host without settings. */
export const reportStage = 'no-settings';

/** The agent's settings, as in its file, that no operator has written: nothing is connected to. */
export function settingsForAll({ functions }: HostRecord) {
  const byDriver = Map.groupBy(functions, driverFor);
  const drivers = [...byDriver].flatMap(([driver, all]) => {
    const toSettings = driver === undefined ? undefined : wholeSettings[driver];
    return driver && toSettings
      ? [
          [
            driver,
            toSettings(
              all.map(({ address }) => address),
              all,
            ),
          ] as const,
        ]
      : [];
  });
  return {
    stage: reportStage,
    endpoint: 'localhost:1',
    certificate: '/dev/null',
    key: '/dev/null',
    drivers: drivers.map(([name]) => name),
    ...Object.fromEntries(drivers),
  };
}
