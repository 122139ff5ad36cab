// Which device nodes the kernel's drivers of accelerators have. The guards see the programs that
// use a device by these nodes alone, so a driver that is not here may have users that no guard
// sees.

import * as z from 'zod';
import type { PciFunction } from '#agent/sysfs/pci.ts';
import type { Sysfs } from '#agent/sysfs/root.ts';

export const kernelDriverName = z
  .string()
  .regex(/^[A-Za-z0-9_.-]{1,64}$/, 'must be the name of a kernel driver, such as xdma');

interface KernelDriver {
  /** Its name in sysfs, or the vendor of its devices where no name is published. */
  readonly is: RegExp | { readonly vendorId: string };
  /** Below /dev. */
  readonly nodes: RegExp;
}

const drivers: readonly KernelDriver[] = [
  // Linux, drivers/accel/habanalabs: nodes of its own until 6.5, then those of class accel.
  { is: /^habanalabs$/, nodes: /^(hl\d+|hl_controlD\d+|accel\/accel(_controlD)?\d+)$/ },
  // Huawei, CANN driver: all processors share the other nodes.
  {
    is: /^devdrv_device_driver$/,
    nodes: /^(davinci\d+|davinci_manager(_docker)?|devmm_svm|hisi_hdc|svm0)$/,
  },
  // AWS, aws-neuron-driver, neuron_cdev.c: its class names no parent.
  { is: /^neuron$/, nodes: /^neuron\d+$/ },
  // Linux, drivers/gpu/drm/amd/amdkfd: one node for all cards, beside those of class drm.
  { is: /^amdgpu$/, nodes: /^kfd$/ },
  // Google, gasket-driver: the driver of Edge TPUs.
  { is: /^apex$/, nodes: /^apex_\d+$/ },
  // Cambricon, cambricon-k8s-device-plugin.
  { is: { vendorId: 'cabc' }, nodes: /^cambricon_(dev|ipcm)\d+$|^cambricon_ctl$/ },
  // Baidu, PaddlePaddle for Kunlun.
  { is: { vendorId: '1d22' }, nodes: /^xpu(\d+|ctrl)$/ },
  // NVIDIA's driver lists its nodes in procfs.
  { is: /^nvidia$/, nodes: /^nvidia\d+$/ },
  // Intel, QAT driver: programs have its nodes, or VFIO's.
  {
    is: /^(4xxx|420xx|6xxx|c6xx|c3xxx|c4xxx|d15xx|dh895xcc)(vf)?$/,
    nodes: /^(qat_adf_ctl|qat_dev_processes|uio\d+)$/,
  },
  // Linux, drivers/fpga/dfl-pci.c; Intel, OPAE's driver before it.
  { is: /^(dfl-pci|intel-fpga-pci)$/, nodes: /^(dfl|intel-fpga)-port\.\d+$/ },
  // AMD, XRT: the user function is in class drm, too.
  { is: /^(xocl|xclmgmt)$/, nodes: /^(xclmgmt\d+|xfpga\/.+)$/ },
];

/** Whether programs may use the function by the node, where sysfs does not name the device. */
export function mayBeNode(fn: PciFunction, node: string): boolean {
  return drivers.some((driver) => driver.nodes.test(node) && hasDriver(fn, driver));
}

export function isNodeOfDriver(node: string): boolean {
  return drivers.some(({ nodes }) => nodes.test(node));
}

/**
 * Storage, networks, sound and serial buses: their users have file systems, interfaces or nodes
 * that are the same for all drivers.
 */
const classesSeen = /^(01|02|04|0c)/;

/**
 * Whether the guards see which programs use the function through the kernel's driver that is bound
 * to it now.
 */
export function areUsersSeen(sysfs: Sysfs, fn: PciFunction): boolean {
  const { boundDriver, classCode, path } = fn;
  if (boundDriver === undefined || isForGuests(boundDriver)) return true;
  if (classesSeen.test(classCode)) return true;
  const isKnown = drivers.some((driver) => hasDriver(fn, driver));
  // Nodes of these classes of the kernel lead to their device.
  return (
    isKnown || ['drm', 'accel'].some((name) => (sysfs.list(`${path}/${name}`) ?? []).length > 0)
  );
}

/** pci-stub only keeps other drivers away. */
function isForGuests(driver: string): boolean {
  return driver.includes('vfio') || driver === 'pci-stub';
}

function hasDriver({ vendorId, boundDriver }: PciFunction, { is }: KernelDriver): boolean {
  if (boundDriver === undefined || isForGuests(boundDriver)) return false;
  return is instanceof RegExp ? is.test(boundDriver) : is.vendorId === vendorId;
}
