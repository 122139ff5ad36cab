// ConnectX-7 functions of HGX B200 and B300 boards through which the host's Fabric Manager reaches
// the NVSwitches. They have the ids of any ConnectX-7; their Vital Product Data (VPD) names them
// SW_MNG, by which NVIDIA's script nvidia-fabricmanager-start.sh finds them, too.

import { HardwareError } from '#agent/hardware/errno.ts';
import type { Hardware } from '#agent/hardware/port.ts';
import { cardIds, type PciFunction, readPciFunctions } from '#agent/sysfs/pci.ts';
import type { Sysfs } from '#agent/sysfs/root.ts';
import { hasHiddenSwitches } from './boards.ts';

const connectX7 = '15b3:1021';
const mark = 'SW_MNG';
/** The read-only fields of a ConnectX-7 are some 200 bytes. */
const vpdBytes = 1024;

const reason =
  'manages the NVSwitches of this board (SW_MNG): the Fabric Manager needs it on the host';

export interface PortDeps {
  readonly sysfs: Sysfs;
  readonly hardware: Pick<Hardware, 'readBytes'>;
  /** Whether cards are such, by address and ids: the card itself answers slowly. */
  readonly switchPorts?: Map<string, boolean>;
}

/** Why network functions stay with the host, by address. */
export async function switchPortRefusals(
  { sysfs, hardware, switchPorts = new Map() }: PortDeps,
  functions: readonly PciFunction[],
  isOffered: (fn: PciFunction) => boolean,
): Promise<ReadonlyMap<string, string>> {
  const refusals = new Map<string, string>();
  for (const fn of functions) {
    const { address, path, vendorId, productId } = fn;
    if (`${vendorId}:${productId}` !== connectX7) continue;
    const key = `${address} ${cardIds(fn)}`;
    try {
      const isPort =
        switchPorts.get(key) ??
        (await hardware.readBytes(address, `${path}/vpd`, vpdBytes)).includes(mark);
      switchPorts.set(key, isPort);
      if (isPort) refusals.set(address, reason);
    } catch (error) {
      if (!(error instanceof HardwareError)) throw error;
      // Without VPD it is none. A failed read proves nothing of a card that servers may have.
      const mayBePort =
        error.code !== 'ENOENT' &&
        !isOffered(fn) &&
        readPciFunctions(sysfs, () => {}).some(hasHiddenSwitches);
      if (mayBePort) {
        refusals.set(address, `may manage the NVSwitches of this board: no VPD (${error.code})`);
      }
    }
  }
  return refusals;
}
