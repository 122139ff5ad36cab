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
  '0435 0443 37c8 37c9 19e2 19e3 6f54 6f55 18a0 18a1 4940 4941 4942 4943 4944 4945 4946 4947 4948 4949';

type DeviceType = ReportedDevice['type'];

/** Whatever their class is: it says the wrong thing, or is that of several types. */
const typesByProduct: Readonly<Record<string, DeviceType>> = {
  // PAC with Arria 10, D5005 and N3000, the N3000's error correction, OFS; each with its VF.
  ...typeOf('FPGA', '8086', '09c4 09c5 0b2b 0b2c 0b30 0b31 0d8f 0d90 bcce bccf'),
  // ACC100 and vRAN Boost, for error correction: DPDK, drivers/baseband/acc.
  ...typeOf('COPROCESSOR', '8086', '0d5c 0d5d 57c0 57c1 57c2 57c3'),
  ...typeOf('QAT', '8086', qatProducts),
  // A card of OFS has virtio functions of its class.
  ...typeOf('NIC', '1af4', '1000 1041'),
  ...typeOf('AICHIP', '1ac1', '089a'),
};

/** In the classes that FPGAs and AI chips share, where the product says nothing. */
const typesByVendor: Readonly<Record<string, DeviceType>> = {
  '1172': 'FPGA',
  '10ee': 'FPGA',
  '1bd4': 'FPGA',
};

/**
 * Whether it is of a vendor of FPGAs, or an FPGA by its ids. Its image chooses its class, such as
 * that of a memory controller.
 */
export function isFpga({ vendorId, productId }: Pick<PciFunction, 'vendorId' | 'productId'>) {
  return (
    ['1172', '10ee'].includes(vendorId) || typesByProduct[`${vendorId}:${productId}`] === 'FPGA'
  );
}

function typeOf(type: DeviceType, vendor: string, products: string) {
  return Object.fromEntries(products.split(' ').map((each) => [`${vendor}:${each}`, type]));
}

const typesByClass: Readonly<Record<string, DeviceType>> = {
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
export function deviceType(fn: PciFunction): DeviceType | undefined {
  const { vendorId, productId, classCode } = fn;
  const byProduct = typesByProduct[`${vendorId}:${productId}`];
  if (byProduct !== undefined) return byProduct;
  const isShared = classCode.startsWith('12') || classCode.startsWith('0b40');
  const byVendor = isShared ? typesByVendor[vendorId] : undefined;
  return byVendor ?? typesByClass[classCode.slice(0, 4)] ?? typesByClass[classCode.slice(0, 2)];
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
