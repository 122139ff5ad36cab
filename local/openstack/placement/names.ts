// The standard resource classes, and the standard traits that concern accelerators and their
// owners; a real Placement knows several hundred more.
// https://docs.openstack.org/os-resource-classes/latest/
// https://docs.openstack.org/os-traits/latest/

export const standardClasses: ReadonlySet<string> = new Set([
  'VCPU',
  'MEMORY_MB',
  'DISK_GB',
  'PCI_DEVICE',
  'SRIOV_NET_VF',
  'NUMA_SOCKET',
  'NUMA_CORE',
  'NUMA_THREAD',
  'NUMA_MEMORY_MB',
  'IPV4_ADDRESS',
  'VGPU',
  'VGPU_DISPLAY_HEAD',
  'NET_BW_EGR_KILOBIT_PER_SEC',
  'NET_BW_IGR_KILOBIT_PER_SEC',
  'PCPU',
  'MEM_ENCRYPTION_CONTEXT',
  'FPGA',
  'PGPU',
  'NET_PACKET_RATE_KILOPACKET_PER_SEC',
  'NET_PACKET_RATE_EGR_KILOPACKET_PER_SEC',
  'NET_PACKET_RATE_IGR_KILOPACKET_PER_SEC',
]);

export const standardTraits: ReadonlySet<string> = new Set([
  'OWNER_CYBORG',
  'OWNER_NOVA',
  'COMPUTE_NODE',
  'COMPUTE_ACCELERATORS',
  'COMPUTE_STATUS_DISABLED',
  'HW_GPU_API_VULKAN',
  'HW_GPU_MAX_DISPLAY_HEADS_1',
  'HW_GPU_MAX_DISPLAY_HEADS_2',
  'HW_GPU_MAX_DISPLAY_HEADS_4',
  'HW_NIC_ACCEL_DEFLATE',
  'HW_NIC_ACCEL_DIFFIEH',
  'HW_NIC_ACCEL_ECC',
  'HW_NIC_ACCEL_IPSEC',
  'HW_NIC_ACCEL_LZS',
  'HW_NIC_ACCEL_RSA',
  'HW_NIC_ACCEL_SSL',
  'HW_NIC_ACCEL_TLS',
  'HW_NIC_SRIOV',
  'MISC_SHARES_VIA_AGGREGATE',
]);

const customName = /^CUSTOM_[A-Z0-9_]+$/;

export function isCustomName(name: string): boolean {
  return customName.test(name) && name.length <= 255;
}
