// FPGA cards of Inspur that driver `inspur_fpga` knows: data only. As in Cyborg's driver of that
// name a card is passed through as a whole, and the agent does not program it.

import type { GivenRow, ModelTable } from './rows.ts';

/** Inspur's SSDs and adapters have the vendor id, too: the class keeps them out. */
const inspur = {
  vendor_id: '1bd4',
  class: '12',
  resource_class: 'FPGA',
  // The driver adds Cyborg's CUSTOM_FPGA_PRODUCT_ID_<ID>.
  traits: ['CUSTOM_FPGA_INSPUR'],
};

const rows: readonly GivenRow[] = [
  // Arria10_PCIe_F10A1150
  { ...inspur, name: 'F10A', product_ids: ['0911'], source: 'pci.ids 2026.08.22' },
  // Published without a name.
  { ...inspur, name: 'FPGA a115', product_ids: ['a115'], source: 'Cyborg, tests of its driver' },
];

export const inspurFpgas: ModelTable = { driver: 'inspur_fpga', type: 'FPGA', rows };
