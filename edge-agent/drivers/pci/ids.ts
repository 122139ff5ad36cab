// The meaning of vendor and class codes. https://pci-ids.ucw.cz

import type { PciFunction } from '#agent/sysfs/pci.ts';
import type { ReportedDevice } from '#core/contracts/report/inventory-report.ts';

/** Names in the traits of Cyborg's pci_driver. */
const vendorNames: Readonly<Record<string, string>> = {
  '10de': 'NVIDIA',
  '102b': 'MATROX',
  '8086': 'INTEL',
  '1bd4': 'INSPUR',
  '10ee': 'XILINX',
  '19e5': 'HUAWEI',
};

/** Physical and virtual functions of Intel QuickAssist (Linux, drivers/crypto/intel/qat). */
const qatProducts =
  '0435 0443 37c8 37c9 19e2 19e3 6f54 6f55 18a0 18a1 4940 4941 4942 4943 4944 4945 4946 4947 4948 4949'.split(
    ' ',
  );

// Keys are vendor and, if present, product. FPGAs and AI chips share class 12, and Intel's
// QuickAssist cards share class 0b40 with other co-processors, so these come first.
const typesById: Readonly<Record<string, ReportedDevice['type']>> = {
  '1172': 'FPGA',
  '10ee': 'FPGA',
  '1bd4': 'FPGA',
  '8086:09c4': 'FPGA',
  '8086:09c5': 'FPGA',
  '8086:0b30': 'FPGA',
  '8086:0b31': 'FPGA',
  '8086:bcce': 'FPGA',
  ...Object.fromEntries(qatProducts.map((product) => [`8086:${product}`, 'QAT'])),
};

const typesByClass: Readonly<Record<string, ReportedDevice['type']>> = {
  '01': 'SSD',
  '02': 'NIC',
  '03': 'GPU',
  '0b40': 'COPROCESSOR',
  '12': 'AICHIP',
};

/**
 * Unlike Cyborg, where every PCI device is a GPU. Undefined if the class does not determine a
 * type.
 */
export function deviceType(fn: PciFunction): ReportedDevice['type'] | undefined {
  const { vendorId, productId, classCode } = fn;
  const byId = typesById[`${vendorId}:${productId}`] ?? typesById[vendorId];
  const byClass = typesByClass[classCode.slice(0, 4)] ?? typesByClass[classCode.slice(0, 2)];
  const isShared = classCode.startsWith('12') || classCode.startsWith('0b40');
  return isShared ? (byId ?? byClass) : byClass;
}

/** `CUSTOM_PCI_NVIDIA`, `CUSTOM_PCI_PRODUCT_ID_2235`. */
export function pciTraits({ vendorId, productId }: PciFunction): string[] {
  const vendor = vendorNames[vendorId];
  return [
    ...(vendor ? [`CUSTOM_PCI_${vendor}`] : []),
    `CUSTOM_PCI_PRODUCT_ID_${productId.toUpperCase()}`,
  ];
}

/** The names of Cyborg's ssd_driver: `CUSTOM_SSD_INSPUR`, `CUSTOM_SSD_PRODUCT_ID_1001`. */
export function ssdTraits(vendorId: string, productId: string): string[] {
  const vendor = vendorNames[vendorId];
  return [
    ...(vendor ? [`CUSTOM_SSD_${vendor}`] : []),
    `CUSTOM_SSD_PRODUCT_ID_${productId.toUpperCase()}`,
  ];
}
