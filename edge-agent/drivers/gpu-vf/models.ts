// Names of the GPUs that have virtual functions: data only. A card that is not here is divided
// alike; its model is then its product id.

/** https://pci-ids.ucw.cz and the tables that the drivers publish. */
const intel: Readonly<Record<string, string>> = {
  // Linux, include/drm/intel/pciids.h (ATS-M, PVC, BMG); intel-resource-drivers-for-kubernetes.
  '56c0': 'Intel Data Center GPU Flex 170',
  '56c1': 'Intel Data Center GPU Flex 140',
  '0b69': 'Intel Data Center GPU Max 1450',
  '0bd5': 'Intel Data Center GPU Max 1550',
  '0bd6': 'Intel Data Center GPU Max 1550',
  '0bd9': 'Intel Data Center GPU Max 1100',
  '0bda': 'Intel Data Center GPU Max 1100',
  '0bdb': 'Intel Data Center GPU Max 1100',
  e211: 'Intel Arc Pro B60',
  e212: 'Intel Arc Pro B50',
};

/** AMD, MxGPU-Virtualization, amdgv_marketing_name.c; V620: pci.ids. */
const amd: Readonly<Record<string, string>> = {
  '73a1': 'AMD Radeon PRO V620',
  '7408': 'AMD Instinct MI250X',
  '740c': 'AMD Instinct MI250X/MI250',
  '740f': 'AMD Instinct MI210',
  '7460': 'AMD Radeon PRO V710',
  '74a1': 'AMD Instinct MI300X',
  '74a2': 'AMD Instinct MI308X',
  '74a5': 'AMD Instinct MI325X',
  '74a8': 'AMD Instinct MI308X',
  '74a9': 'AMD Instinct MI300X HF',
  '75a0': 'AMD Instinct MI350X',
  '75a3': 'AMD Instinct MI355X',
};

interface GpuVendor {
  /** The spelling in traits. */
  readonly name: string;
  readonly models: Readonly<Record<string, string>>;
}

export const gpuVendors: Readonly<Record<string, GpuVendor>> = {
  '8086': { name: 'INTEL', models: intel },
  '1002': { name: 'AMD', models: amd },
};
