// Where Linux and NVIDIA's open drivers print the messages of the fault catalogue: for each row
// the files, the formats, and values for what a format leaves open. A pattern as a value is a text
// of the same file.

export interface MessageSource {
  readonly row: string;
  readonly files: RegExp;
  readonly text: RegExp;
  /** Absent for each call that the text is an argument of. */
  readonly call?: string;
  readonly values: readonly (string | RegExp)[];
  /** The row needs one message of each step, in this order. */
  readonly step?: number;
}

type Format = readonly [text: RegExp, ...values: readonly (string | RegExp)[]];

function printed(row: string, files: RegExp, ...formats: readonly Format[]): MessageSource[] {
  return formats.map(([text, ...values]) => ({ row, files, text, values }));
}

function inSteps(row: string, files: RegExp, ...formats: readonly Format[][]): MessageSource[] {
  return formats.flatMap((each, step) =>
    printed(row, files, ...each).map((source) => ({ ...source, step })),
  );
}

const pci = /^drivers\/pci\/pci\.c$/;
const aer = /^drivers\/pci\/pcie\/aer\.c$/;
const cper = /^drivers\/firmware\/efi\/cper\.c$/;
const i915 = /^drivers\/gpu\/drm\/i915\/.*(i915_(drv|gem|gem_pm)|intel_gt_pm|intel_reset)\.c$/;
const xe = /^drivers\/gpu\/drm\/xe\/xe_(device|gt|survivability_mode)\.c$/;
const amdgpu = /^drivers\/gpu\/drm\/amd\/(amdgpu|ras|amdkfd)\/.*\.c$/;
const habana = /^drivers\/(misc|accel)\/habanalabs\/(common\/)?device\.c$/;
const gaudi2 = /^drivers\/(misc|accel)\/habanalabs\/gaudi2\/gaudi2\.c$/;
const qat = /^drivers\/crypto\/(intel\/)?qat\/qat_common\/adf_(isr|gen6_ras|init)\.c$/;
const mlx5 = /^drivers\/net\/ethernet\/mellanox\/mlx5\/core\/(health|cmd|main|events)\.c$/;
const mlx4 = /^drivers\/net\/ethernet\/mellanox\/mlx4\/(catas|reset)\.c$/;
const intel = /^drivers\/net\/ethernet\/intel\/(ixgbe|igb|igc|fm10k|ice|i40e)\/\w+_(main|pci)\.c$/;
const bnxt = /^drivers\/net\/ethernet\/broadcom\/bnxt\/bnxt\.c$/;
const nvme = /^drivers\/nvme\/host\/(pci|core)\.c$/;
const block = /^block\/blk-(core|mq)\.c$/;

const pcieErrors = (row: string, severity: RegExp) =>
  printed(
    row,
    aer,
    [/^PCIe Bus Error: severity=%s, type=/, severity, 'Transaction Layer', 'Receiver ID'],
    [/^%s Bus Error: severity=%s/, 'PCIe', severity],
    [/^%s Bus Error: severity=%s/, 'CXL', severity],
  );

const aerByFirmware = (row: string, status: string) =>
  inSteps(
    row,
    aer,
    [
      [/^aer_status: /, status, '00000000'],
      [/^aer_%s_status: /, 'uncor', status, 'uncor', '00000000'],
    ],
    [[/^aer_uncor_severity: /, '00062010']],
  );

const cperRecord = (row: string, severity: string) => {
  const prefix = '{1}[Hardware Error]: ';
  return inSteps(
    row,
    cper,
    [[/^%sevent severity: /, prefix, severity]],
    [[/^%sError %d, type: /, `${prefix} `, '0', severity]],
    [[/^%ssection_type: PCIe error/, `${prefix}  `]],
    [[/^%sdevice_id: /, `${prefix}  `, '0000', '3b', '00', '0']],
    [[/^%svendor_id: /, `${prefix}  `, '10de', '26b5']],
  );
};

const nvidia = /^(kernel-open\/nvidia\/nv|src\/nvidia\/arch\/nvalloc\/unix\/src\/os(init|api))\.c$/;
const nvidiaGpu = /^src\/nvidia\/src\/kernel\/gpu\/gpu\.c$/;
const nvswitch = /^src\/common\/nvswitch\/kernel\/inc\/intr_nvswitch\.h$/;

export const messageSources: readonly MessageSource[] = [
  ...printed('nvidia-init', nvidia, [
    /^RmInitAdapter failed!|^rm_init_adapter failed, device minor/,
  ]),
  ...printed(
    'nvidia-lost',
    nvidia,
    [/^GPU has fallen off the bus\.\\n/],
    [/^NVRM: The NVIDIA GPU .*fallen off the bus/, ...['0000', '3b', '00', '0', '10de', '26b5']],
  ),
  ...printed('xid-154', nvidiaGpu, [/^GPU recovery action changed/, '0', 'None', '1', 'GPU Reset']),
  ...printed('sxid-fatal', nvswitch, [/^Fatal, /]),
  ...pcieErrors('aer-fatal', /^Uncorrect(ed|able) \(Fatal\)$/),
  ...pcieErrors('aer-nonfatal', /^Uncorrect(ed|able) \(Non-Fatal\)$/),
  ...aerByFirmware('aer-firmware-fatal', '00040000'),
  ...aerByFirmware('aer-firmware-nonfatal', '00100000'),
  ...cperRecord('cper-fatal', 'fatal'),
  ...cperRecord('cper-nonfatal', 'recoverable'),
  ...printed('pcie-recovery-failed', /^drivers\/pci\/pcie\/err\.c$/, [/[Dd]evice recovery failed/]),
  ...printed('pcie-contained', /^drivers\/pci\/pcie\/dpc\.c$/, [/containment event/]),
  ...printed('pci-not-ready', pci, [/^not ready %dms after %s; giving up/, '65535', 'bus reset']),
  ...printed('pci-inaccessible', pci, [/, device inaccessible|\(config space inaccessible\)/]),
  ...printed(
    'pci-asleep',
    pci,
    [/^[Rr]efused to change power state, currently in D%d/, '3'],
    [/^[Rr]efused to change power state from %s to (%s|D0)/, 'D3hot', 'D0'],
  ),
  ...printed('xe-wedged', xe, [/^CRITICAL: Xe has declared/, '0000:3b:00.0']),
  ...printed('xe-survivability', xe, [
    /^(In Survivability M|Runtime Survivability m)ode\b(?! not)/,
  ]),
  ...printed('xe-reset', xe, [/^reset started/]),
  ...printed('xe-reset-failed', xe, [/^reset failed/]),
  ...printed('i915-wedged', i915, [
    /^Failed to reset chip|^Failed to (re-)?initialize GPU.*wedged/,
  ]),
  ...printed('i915-reset', i915, [/^Resetting chip for /, 'stopped heartbeat on rcs0']),
  ...printed('amdgpu-init', amdgpu, [/^Fatal error during GPU init/]),
  ...printed('amdgpu-bad-pages', amdgpu, [
    /GPU will not be initialized|disabling the GPU|^This GPU is in BAD status/,
  ]),
  ...printed('amdgpu-bad-pages-limit', amdgpu, [
    /^RAS records:%d exceed threshold:%d(?!, GPU)|^Saved bad pages.*reaches threshold/,
  ]),
  ...printed('amdgpu-lost', amdgpu, [/^device lost from bus/]),
  ...printed(
    'amdgpu-reset-failed',
    amdgpu,
    [/^GPU reset\(%d\) failed/, '1', '-110'],
    [/^GPU reset end with ret = /, '-110'],
  ),
  ...printed('amdgpu-reset', amdgpu, [/^GPU (reset|%s) begin!/, 'reset']),
  ...printed('amdgpu-mes', amdgpu, [
    /^MES(\(%d(, %d)?\))? (failed to respon|might be in unrecoverable state)/,
  ]),
  ...printed(
    'amdgpu-uncorrectable',
    amdgpu,
    [/(^|\} )%l*[du] uncorrectable (hardware )?errors detected/],
    [/socket: %d, die: %d,? %\w+ (new )?uncorrectable hardware errors/],
    [/^uncorrectable hardware error\(/],
  ),
  ...printed('habana-init', habana, [/^Failed to initialize (hl|accel)%d/, '0', '0000:3b:00.0']),
  ...printed('habana-reset-failed', habana, [/Device is NOT usable(?! ?!)/, '0000:34:00.0']),
  ...printed('habana-heartbeat', habana, [/heartbeat (failed|event was not received)/]),
  ...printed('habana-ecc', gaudi2, [
    /^ECC error detected.*critical %u/,
    ...Array(3).fill('0x8'),
    '1',
    '1',
  ]),
  ...printed('qat-fatal', qat, [/^Fatal error, (cold )?reset required/]),
  ...printed('qat-init', qat, [/^Failed to (initialise Acceleration Engine|send init message)/]),
  ...printed('mlx5-health', mlx5, [/^device's health compromised/]),
  ...printed(
    'mlx5-fatal',
    mlx5,
    [/^Fatal error %u detected/],
    [/^health recovery (failed|flow aborted)/],
    [/^synd 0x%x: /, '8', 'unrecoverable hardware error'],
    [/^Health issue observed/, 'firmware internal error', '3', 'ERROR'],
  ),
  ...printed(
    'mlx5-hot',
    mlx5,
    [/^High temperature on sensors/],
    [/^synd 0x%x: /, '10', /^High temperature$/],
    [/^Health issue observed/, /^High temperature$/, '3', 'ERROR'],
  ),
  ...printed('mlx5-init', mlx5, [/^Firmware over %\w+ MS in /, '120000', 'initializing']),
  ...printed(
    'mlx5-timeout',
    mlx5,
    [/^%s\(0x%x\) timeout\. Will cause a leak/, 'QUERY_VPORT_COUNTER'],
    [/^cmd\[%d\]: %s\(0x%x\) Async, timeout\. Will cause a leak/, '3', 'QUERY_VPORT_COUNTER'],
  ),
  ...printed('nic-lost', intel, [
    /^(Adapter removed|PCIe link lost(, device now detached)?)(\\n)?$/,
  ]),
  ...printed('nic-recovery', intel, [
    /^Firmware recovery mode detected|^Entering recovery mode due to repeated FW resets/,
  ]),
  ...printed('nic-reset-failed', intel, [
    /^(reset %d failed|Rebuild failed, unload|PF reset failed, |Initial pf_reset|Rebuild AdminQ failed)/,
  ]),
  ...printed('nic-stuck', intel, [/^tx_timeout recovery unsuccessful/]),
  ...printed('nic-hot', intel, [/^The network adapter was stopped because it overheated/]),
  // Other calls of the same file print other texts by this format.
  { row: 'nic-hot', files: intel, call: 'e_crit', text: /^%s\\n$/, values: [/ over heated\./] },
  ...printed('nic-fan', intel, [/^Fan has stopped, replace the adapter/]),
  ...printed('mlx4-reset', mlx4, [/^(Internal error detected:|device is going to be reset)/]),
  ...printed('mlx4-reset-failed', mlx4, [
    /^(Fail to reset HCA|PCI device did not come back after reset)/,
  ]),
  ...printed('bnxt-firmware', bnxt, [/^Firmware (reset aborted|not responding, status: )/]),
  ...printed('nvme-disabled', nvme, [
    /^(Disabling device after reset|Removing after probe) failure/,
  ]),
  ...printed('nvme-not-ready', nvme, [/^Device not ready; aborting %s/, 'initialisation']),
  ...printed('nvme-down', nvme, [/^controller is down; will reset/]),
  ...printed('nvme-timeout', nvme, [/^I\/O .*timeout, (reset|disable) controller/]),
  ...printed(
    'nvme-medium',
    block,
    [/^%s: %s error, dev %s, sector/, 'blk_update_request', /^critical medium$/, 'nvme0n1'],
    [/^%s error, dev %s, sector/, 'critical medium', 'nvme0n1'],
  ),
];
