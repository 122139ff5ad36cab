// A host for tests of driver nic: one card at 0000:3d:00.0, which has virtual functions.

import { DriverHost } from '#test/support/hosts/driver-host.ts';
import { ownDriver } from '#test/support/hosts/own-driver.ts';
import { NicKernel } from './kernel.ts';

export const card = '0000:3d:00.0';
export const divided = { cards: [{ addresses: card, virtual_functions: true }] };

export class NicHost extends DriverHost {
  readonly kernel: NicKernel;

  /** @param functions that exist, on vfio-pci */
  constructor(functions = 2) {
    super(ownDriver('nic'), () => this.kernel.hardware());
    this.kernel = new NicKernel(this.host.tree);
    this.kernel.addCard({ address: card }, 'ens1');
    if (functions > 0) this.kernel.addFunctions(card, functions, { driver: 'vfio-pci' });
  }

  /** The host has its default route there. */
  route(name: string): void {
    const header = 'Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\n';
    this.host.proc.write('net/route', `${header}${name}\t00000000\t0\t3\t0\t0\t0\t00000000\n`);
  }
}
