import { describe, expect, it } from 'vitest';
import { checkGates } from '#agent/config/check-gates.ts';
import { type Config, loadConfig } from '#agent/config/config.ts';

const complete = {
  CYBORG_AGENT_STAGE: 'dev',
  CYBORG_AGENT_ENDPOINT: 'iot.example:8883',
  CYBORG_AGENT_CERTIFICATE: '/etc/agent.pem',
  CYBORG_AGENT_KEY: '/etc/agent-key.pem',
  CYBORG_AGENT_DRIVERS: 'fake',
};

function configOf(
  environment: Readonly<Record<string, string>>,
  options: { file?: string; unreadable?: string } = {},
): Config {
  return loadConfig({
    environment: { ...complete, ...environment },
    hostname: 'cmp1.example',
    isReadable: (path) => path !== options.unreadable,
    ...(options.file !== undefined && { file: options.file }),
  });
}

function faultOf(environment: Record<string, string>, options = {}): string {
  try {
    configOf(environment, options);
  } catch (error) {
    return (error as Error).message;
  }
  return 'no fault';
}

describe('settings of the agent', () => {
  it('are few, and the others have defaults', () => {
    expect(configOf({})).toEqual({
      hostname: 'cmp1.example',
      stage: 'dev',
      endpoint: { host: 'iot.example', port: 8883 },
      certificateFile: '/etc/agent.pem',
      keyFile: '/etc/agent-key.pem',
      drivers: [{ name: 'fake', create: expect.any(Function) }],
      intervalSeconds: 60,
      sysfsRoot: '/sys',
      procRoot: '/proc',
      stateDirectory: '/var/lib/cyborg-agent',
      bootIdFile: '/proc/sys/kernel/random/boot_id',
      domains: { path: '/etc/libvirt/qemu', isNamed: false },
      kernelLogFile: '/dev/kmsg',
      liveDomains: { path: '/run/libvirt/qemu', isNamed: false },
      novaFiles: {
        paths: [
          '/etc/nova/nova.conf',
          '/etc/nova/nova-compute.conf',
          '/etc/nova/nova.conf.d',
          '/etc/nova/nova-compute.conf.d',
          '/etc/kolla/nova-compute/nova.conf',
        ],
        isNamed: false,
      },
      unguardedDrivers: [],
      usesVendorTools: true,
      gates: {},
      logLevel: 'info',
    });
  });

  it('come from the file if the environment has none', () => {
    const file = JSON.stringify({ stage: 'file', interval_seconds: 30, drivers: ['pci', 'fake'] });
    const environment = { CYBORG_AGENT_PCI: '{"allow_list":{"vendor_id":"10DE"}}' };
    const fromFile = configOf({ ...environment, CYBORG_AGENT_DRIVERS: '' }, { file });
    expect(fromFile).toMatchObject({ stage: 'dev', intervalSeconds: 30 });
    expect(fromFile.drivers.map(({ name }) => name)).toEqual(['pci', 'fake']);
  });

  it.each([
    ['iot.example', { host: 'iot.example', port: 8883 }],
    ['iot.example:443', { host: 'iot.example', port: 443 }],
    ['127.0.0.1:18883', { host: '127.0.0.1', port: 18883 }],
    ['[::1]:8883', { host: '::1', port: 8883 }],
  ])('read the endpoint %s', (text, endpoint) => {
    expect(configOf({ CYBORG_AGENT_ENDPOINT: text }).endpoint).toEqual(endpoint);
  });

  it("accept Cyborg's names of drivers", () => {
    expect(configOf({ CYBORG_AGENT_DRIVERS: ' fake_driver' }).drivers).toMatchObject([
      { name: 'fake' },
    ]);
  });
});

describe('the folder of definitions of domains', () => {
  it.each([
    ['is that of libvirt', {}, { path: '/etc/libvirt/qemu', isNamed: false }],
    ['may be named', { DOMAINS_DIR: '/srv/qemu' }, { path: '/srv/qemu', isNamed: true }],
    ['is none of a trial', { SYSFS_ROOT: '/tmp/sys' }, undefined],
    [
      'may be named for a trial',
      { SYSFS_ROOT: '/tmp/sys', DOMAINS_DIR: '/tmp/qemu' },
      { path: '/tmp/qemu', isNamed: true },
    ],
  ])('%s', (_what, given, folder) => {
    const prefixed = Object.entries(given).map(([key, to]) => [`CYBORG_AGENT_${key}`, to]);
    expect(configOf(Object.fromEntries(prefixed)).domains).toEqual(folder);
  });

  it('has a second one for servers that run', () => {
    expect(configOf({}).liveDomains).toEqual({ path: '/run/libvirt/qemu', isNamed: false });
    expect(configOf({ CYBORG_AGENT_SYSFS_ROOT: '/tmp/sys' }).liveDomains).toBeUndefined();
  });

  it('has the files of nova-compute beside it, which settings may name', () => {
    const environment = { CYBORG_AGENT_NOVA_CONF: '/srv/nova.conf,/srv/nova.conf.d' };
    const paths = ['/srv/nova.conf', '/srv/nova.conf.d'];
    expect(configOf(environment).novaFiles).toEqual({ paths, isNamed: true });
    expect(configOf({ CYBORG_AGENT_SYSFS_ROOT: '/tmp/sys' }).novaFiles).toBeUndefined();
    expect(faultOf({ CYBORG_AGENT_NOVA_CONF: 'nova.conf' })).toContain('absolute path');
  });

  it('must be an absolute path', () => {
    const fault = 'CYBORG_AGENT_DOMAINS_DIR: must be an absolute path.';
    expect(faultOf({ CYBORG_AGENT_DOMAINS_DIR: 'qemu' })).toBe(fault);
  });
});

describe('the attach types of the host', () => {
  const environment = { CYBORG_AGENT_ATTACH_TYPES: ' MDEV,PCI,' };
  it.each([
    ['the environment', environment, undefined, ['PCI', 'MDEV']],
    ['the file', {}, { attach_types: ['TEST_PCI'] }, ['TEST_PCI']],
    ['the environment before the file', environment, { attach_types: ['PCI'] }, ['PCI', 'MDEV']],
    ['neither, so that the deployment says them', {}, {}, undefined],
  ])('come from %s', (_case, given, settings, types) => {
    const file = settings && { file: JSON.stringify(settings) };
    expect(configOf({ ...given }, file).attachTypes).toEqual(types);
  });
});

describe('the failure domain of the host', () => {
  it.each([
    [{ CYBORG_AGENT_FAILURE_DOMAIN: 'rack-12' }, {}, 'rack-12'],
    [{}, { failure_domain: 'room.2_row3' }, 'room.2_row3'],
    [{}, {}, undefined],
  ])('comes from the environment or the file: %o, %o', (given, settings, domain) => {
    expect(configOf(given, { file: JSON.stringify(settings) }).failureDomain).toBe(domain);
  });

  it('is a name', () => {
    const fault =
      'CYBORG_AGENT_FAILURE_DOMAIN: must be at most 64 letters, digits, ".", "_" and "-"';
    expect(faultOf({ CYBORG_AGENT_FAILURE_DOMAIN: 'rack 12' })).toContain(fault);
  });
});

const pci = (settings: object | undefined) => ({
  CYBORG_AGENT_DRIVERS: 'pci',
  ...(settings && { CYBORG_AGENT_PCI: JSON.stringify(settings) }),
});

describe('wrong settings', () => {
  it.each([
    [{ CYBORG_AGENT_STAGE: '' }, 'CYBORG_AGENT_STAGE is missing.'],
    [{ CYBORG_AGENT_STAGE: 'Dev' }, 'CYBORG_AGENT_STAGE: must be at most 15 lower case letters'],
    [{ CYBORG_AGENT_HOSTNAME: 'a b' }, 'CYBORG_AGENT_HOSTNAME: must be the name'],
    [{ CYBORG_AGENT_ENDPOINT: 'https://x' }, 'CYBORG_AGENT_ENDPOINT: must be host:port'],
    [{ CYBORG_AGENT_PROXY: 'https://x:3128' }, 'CYBORG_AGENT_PROXY: must be http://host:port'],
    [{ CYBORG_AGENT_PROXY: 'x:3128' }, 'CYBORG_AGENT_PROXY: must be http://host:port'],
    [{ CYBORG_AGENT_ENDPOINT: 'x:99999' }, 'CYBORG_AGENT_ENDPOINT: must have a port'],
    [{ CYBORG_AGENT_KEY: 'key.pem' }, 'CYBORG_AGENT_KEY: must be an absolute path'],
    [{ CYBORG_AGENT_INTERVAL_SECONDS: '0' }, 'CYBORG_AGENT_INTERVAL_SECONDS: must be at least 1'],
    [{ CYBORG_AGENT_INTERVAL_SECONDS: 'x' }, 'CYBORG_AGENT_INTERVAL_SECONDS: must be a number'],
    [{ CYBORG_AGENT_DRIVERS: 'fake,gpu' }, 'unknown driver "gpu"; valid are fake, pci'],
    [{ CYBORG_AGENT_DRIVERS: ',' }, 'CYBORG_AGENT_DRIVERS: name at least one of fake, pci'],
    [
      { CYBORG_AGENT_DRIVERS: 'fake,fake' },
      'CYBORG_AGENT_DRIVERS: must not name a driver more than once',
    ],
    [
      { CYBORG_AGENT_ATTACH_TYPES: 'PCI,USB' },
      'CYBORG_AGENT_ATTACH_TYPES: unknown type "USB"; valid are PCI, MDEV, TEST_PCI.',
    ],
    [
      { CYBORG_AGENT_UNGUARDED_KERNEL_DRIVERS: 'xdma,a b' },
      'CYBORG_AGENT_UNGUARDED_KERNEL_DRIVERS (at 1): must be the name of a kernel driver, such as xdma.',
    ],
    [
      { CYBORG_AGENT_ATTACH_TYPES: ',' },
      'CYBORG_AGENT_ATTACH_TYPES: must name at least one of PCI, MDEV, TEST_PCI.',
    ],
    [pci(undefined), 'CYBORG_AGENT_PCI (at allow_list): must say which devices'],
    [{ ...pci(undefined), CYBORG_AGENT_PCI: '{' }, 'CYBORG_AGENT_PCI: must be JSON'],
    [{ CYBORG_AGENT_FAKE: '{}' }, 'CYBORG_AGENT_FAKE: has no settings'],
    [
      pci({ allow_list: [{ vendor_id: '10de' }, { vendor_id: 'nvidia' }] }),
      'CYBORG_AGENT_PCI (at allow_list.1.vendor_id): must be four hexadecimal digits',
    ],
    [
      { CYBORG_AGENT_PCI: '{"allow_list":[]}' },
      'CYBORG_AGENT_PCI has no effect: CYBORG_AGENT_DRIVERS lacks pci.',
    ],
    [
      { CYBORG_AGENT_INTERVAL: '5' },
      'Unknown setting: CYBORG_AGENT_INTERVAL; allowed are hostname, stage, endpoint, certificate,',
    ],
    [
      pci({ allow_list: [{ vendor_id: '10de', resource_class: 'GPU' }] }),
      'CYBORG_AGENT_PCI (at allow_list.0.resource_class): must be FPGA, PGPU or CUSTOM_...',
    ],
  ])('%j is answered by a sentence', (environment, sentence) => {
    expect(faultOf(environment)).toContain(sentence);
  });

  it('name each file that cannot be read', () => {
    expect(faultOf({}, { unreadable: '/etc/agent-key.pem' })).toBe(
      'CYBORG_AGENT_KEY: /etc/agent-key.pem cannot be read.',
    );
  });

  it('are all reported at once', () => {
    const fault = faultOf({ CYBORG_AGENT_STAGE: '', CYBORG_AGENT_ENDPOINT: '' });
    expect(fault).toBe('CYBORG_AGENT_STAGE is missing. CYBORG_AGENT_ENDPOINT is missing.');
  });

  it('include a file that is not one JSON object', () => {
    expect(faultOf({}, { file: '[]' })).toBe('The settings file must be one JSON object.');
  });

  it('take gates by resource class or driver, each with a limit', () => {
    const program = '/usr/local/libexec/gate';
    const gates = { PGPU: { program }, fake: { program, time_limit_seconds: 30 } };
    const parsed = {
      PGPU: { program, time_limit_seconds: 300 },
      fake: { program, time_limit_seconds: 30 },
    };
    expect(configOf({ CYBORG_AGENT_GATES: JSON.stringify(gates) }).gates).toEqual(parsed);
    expect(configOf({}, { file: JSON.stringify({ gates }) }).gates).toEqual(parsed);
  });

  it.each([
    [{ PGPU: { program: 'gate' } }, 'must be an absolute path'],
    [{ PGPU: { program: '/gate', time_limit_seconds: 0 } }, 'must be at least 1'],
    [{ PGPU: { program: '/gate', args: ['x'] } }, 'args'],
    [{ 'a class': { program: '/gate' } }, 'must be a resource class or a driver'],
  ])('refuse the gate %j', (gates, fault) => {
    const file = JSON.stringify({ gates });
    expect(faultOf({}, { file })).toMatch(/^CYBORG_AGENT_GATES/);
    expect(faultOf({}, { file })).toContain(fault);
  });

  it('name a gate that would never run, or that the agent must not run', () => {
    const gate = { program: '/nowhere/gate', time_limit_seconds: 30 };
    const { drivers } = configOf({});
    const check = (key: string) => () => checkGates({ gates: { [key]: gate }, drivers });
    expect(check('nvidia')).toThrow(
      '(at nvidia) has no effect: CYBORG_AGENT_DRIVERS lacks nvidia.',
    );
    expect(check('fake')).toThrow('/nowhere/gate does not exist.');
    expect(check('PGPU')).toThrow('/nowhere/gate does not exist.');
  });
});
