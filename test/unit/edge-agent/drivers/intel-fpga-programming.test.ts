import { beforeEach, describe, expect, it } from 'vitest';
import { address, IntelFpgaHost, imageId, virtual } from '#test/drivers/intel-fpga/host.ts';
import { staticRegion } from '#test/drivers/intel-fpga/kernel.ts';
import { aFunction, aGbs } from '#test/support/hosts/gbs.ts';
import { perTest } from '#test/support/vitest/shared.ts';

const other = '11111111-2222-4333-8444-555555555555';
const host = perTest(() => new IntelFpgaHost());
const withPorts = perTest(() => new IntelFpgaHost({ losesPorts: false }));
const legacy = perTest(() => new IntelFpgaHost({ stack: 'intel-fpga' }));

const whole = { cards: [{ addresses: address, virtual_functions: false }] };
const keeping = { clean: 'reset', data_may_stay: true };
const engineFile = (name: string) => `${host.kernel.engineOf(address)}/${name}`;
const portFile = (name: string) => `${host.kernel.portOf(address)}/${name}`;

describe('programming of an FPGA card', () => {
  beforeEach(() => host.start());

  it('takes the port back, writes the bitstream alone, verifies it and returns the port', async () => {
    host.kernel.ran.length = 0;
    const bytes = aGbs({ functionUuid: other, others: [aFunction] });
    await host.write(bytes);
    expect(host.kernel.ran).toEqual([
      'dfl-assign /dev/dfl-fme.0 0',
      expect.stringMatching(`^dfl-program /dev/dfl-fme.0 0 /.*/image ${bytes.length - 4}$`),
      'dfl-release /dev/dfl-fme.0 0',
    ]);
    expect(host.driverOf(virtual)).toBe('vfio-pci');
    expect(await host.region()).toMatchObject({
      'bitstream-id': imageId,
      'function-uuid': other,
      'function-uuids': [aFunction],
    });
    expect(host.percents).toEqual([0, 100]);
  });

  it('binds no driver anew where the kernel gives an assigned port its driver', async () => {
    const unbinds: string[] = [];
    withPorts.kernel.onUnbind = (each) => unbinds.push(each);
    await withPorts.start();
    await withPorts.write({ functionUuid: other });
    expect((await withPorts.region())?.['function-uuid']).toBe(other);
    expect(unbinds).not.toContain(address);
  });

  it('brings back a port that a program has assigned without a driver', async () => {
    await host.kernel.hardware().writeText(address, `bus/pci/devices/${address}/sriov_numvfs`, '0');
    await host.kernel.hardware().help(address, ['dfl-assign', '/dev/dfl-fme.0', '0']);
    expect(Object.keys(await host.discover())).toEqual([address]);
    expect(host.driverOf(virtual)).toBe('vfio-pci');
  });

  it.each([
    [{ interfaceUuid: other }, 'The image is for interface'],
    [Buffer.from('no image'), 'The image ends within its header'],
  ])('refuses an image before it touches the card', async (image, reason) => {
    host.kernel.ran.length = 0;
    await expect(host.write(image)).rejects.toThrow(reason);
    expect(host.kernel.ran).toEqual([]);
  });

  it('tells what the manager shows of a failed image, and brings the port back', async () => {
    host.kernel.at(address).fails = { code: 'EIO', status: 'reconfig CRC error' };
    await expect(host.write()).rejects.toThrow(
      'EIO: port 0 did not take the image (write complete error, reconfig CRC error)',
    );
    expect(host.driverOf(virtual)).toBe('vfio-pci');
    const region = await host.region();
    expect([region?.['bitstream-id'], region?.['function-uuid']]).toEqual([undefined, undefined]);
  });

  it('fails if the port then shows another function', async () => {
    host.kernel.at(address).shows = other;
    await expect(host.write()).rejects.toThrow(
      `Port 0 of ${address} shows function ${other}, and the image has ${aFunction}.`,
    );
    expect((await host.region())?.['function-uuid']).toBeUndefined();
  });

  it('fails if the card falls off the bus meanwhile', async () => {
    host.host.tree.write(engineFile('bitstream_id'), '0xffffffffffffffff\n');
    await expect(host.write()).rejects.toThrow('it fell off the bus');
    expect(await host.discover()).toEqual({});
  });

  it.each(['region1', 'region', 'region00', '../region0'])('knows no region %s', async (name) => {
    await expect(host.write({}, name)).rejects.toThrow(`has no region ${name}`);
  });

  it('refuses a card whose function a guest has', async () => {
    host.host.openVfio(virtual);
    await expect(host.write()).rejects.toThrow(
      `cannot be programmed: ${virtual} is open: process 31`,
    );
    expect(host.kernel.at(address).taken).toEqual([]);
  });

  const clocked = { keys: { 'clock-frequency-high': 400, 'clock-frequency-low': 200 } };

  it('leaves an image with user clocks to fpgaconf, by the whole address', async () => {
    await host.write(clocked);
    expect(host.kernel.ran.find((each) => each.startsWith('true '))).toMatch(
      /^true --segment 0x0000 --bus 0x5e --device 0x00 --function 0x0 \/.*\/image$/,
    );
    expect((await host.region())?.['bitstream-id']).toBe(imageId);
  });

  it('refuses an image with user clocks where fpgaconf is not installed', async () => {
    await host.start({ fpgaconf: '/nowhere/fpgaconf' });
    await expect(host.write(clocked)).rejects.toThrow(
      '/nowhere/fpgaconf of OPAE is not installed, which a user clock of 400 and 200 MHz needs.',
    );
    expect(host.kernel.at(address).taken).toEqual([]);
  });

  it('programs a card on the driver intel-fpga by fpgaconf', async () => {
    await legacy.start();
    await legacy.write({ functionUuid: other });
    expect((await legacy.region())?.['function-uuid']).toBe(other);
    legacy.kernel.at(address).fails = { code: 'EIO', status: '' };
    await expect(legacy.write()).rejects.toThrow('/bin/true ended with 1: HardwareError: EIO');
  });
});

it('the programming of a whole card waits until its port is enabled', async () => {
  await host.start(whole);
  host.kernel.at(address).disabledReads = 3;
  await host.write({ functionUuid: other });
  expect((await host.region())?.['function-uuid']).toBe(other);
  host.kernel.at(address).disabledReads = 1000;
  await expect(host.write()).rejects.toThrow('EBUSY');
});

describe('cleaning of an FPGA card', () => {
  beforeEach(() => host.start());

  it('writes the blank image, and says what was verified', async () => {
    await host.write({ functionUuid: other });
    expect(await host.clean()).toEqual({
      cleaned_by: 'blank image',
      function: '00000000-0000-4000-8000-00000000b1a4',
      errors_cleared: 'none',
      static_region: staticRegion,
      memory_of_card: 'not erased',
    });
    const region = await host.region();
    expect([region?.['bitstream-id'], region?.['function-uuid']]).toEqual([undefined, undefined]);
    expect(host.driverOf(virtual)).toBe('vfio-pci');
  });

  it('is not disturbed by a change that was planned before it', async () => {
    await host.kernel.hardware().writeText(address, `bus/pci/devices/${address}/sriov_numvfs`, '0');
    const [change] = (await host.driver?.plan?.()) ?? [];
    if (!change || !('apply' in change)) throw new Error('No functions are planned.');
    const said: string[] = [];
    host.kernel.onProgram = async () => {
      said.push(await change.apply().then(() => 'applied', String));
    };
    await host.clean();
    expect(said).toEqual([`Error: a job works on ${address}`]);
  });

  it('leaves no function offered that the guards refuse, after its agent died', async () => {
    await new Promise<void>((resolve) => {
      host.kernel.onProgram = () => {
        resolve();
        return new Promise(() => {});
      };
      host.clean();
    });
    expect(Object.keys(await host.start())).toEqual([address]);
    host.host.tree.write(`${host.host.tree.pathOf(virtual)}/reset_method`, '\n');
    expect(await host.discover()).toEqual({});
    expect((await host.reasons())[virtual]).toContain('it has no reset method');
  });

  it('fails while a process has the function open', async () => {
    host.host.openVfio(virtual);
    await expect(host.clean()).rejects.toThrow(`The device at ${virtual} is open: process 31`);
  });

  it('resets the virtual function where the image may stay', async () => {
    await host.start(keeping);
    await host.write();
    expect(await host.clean()).toMatchObject({ cleaned_by: 'reset', reset_method: 'flr' });
    expect((await host.region())?.['bitstream-id']).toBe(imageId);
  });

  it('offers no whole card of intel-fpga where it would only be reset', async () => {
    expect(await legacy.start({ ...whole, ...keeping })).toEqual({});
    expect((await legacy.reasons())[address]).toContain('whose ports are not reset');
  });
});

describe('cleaning of a whole FPGA card', () => {
  beforeEach(() => host.start(whole));

  it('takes a whole card back from VFIO, and leaves it on its driver', async () => {
    host.kernel.bind(address, 'vfio-pci');
    expect(await host.clean(address)).toMatchObject({ cleaned_by: 'blank image' });
    expect(host.driverOf(address)).toBe('dfl-pci');
  });

  it('clears the errors that a guest has left, by their value', async () => {
    host.host.tree.write(portFile('errors/errors'), '0x200\n');
    host.host.tree.write(engineFile('errors/pcie0_errors'), '0x2\n');
    const { errors_cleared: cleared } = await host.clean(address);
    expect(cleared).toBe('port 0 0x200, pcie0_errors 0x2');
    host.host.tree.write(portFile('errors/errors'), '0x1\n');
    host.kernel.at(address).hasLastingErrors = true;
    await expect(host.clean(address)).rejects.toThrow(
      'The errors of port 0 of 0000:5e:00.0 stay: 0x1.',
    );
  });

  it('fails on a card with fatal errors', async () => {
    host.host.tree.write(engineFile('errors/catfatal_errors'), '0x800\n');
    await expect(host.clean(address)).rejects.toThrow('shows catastrophic or fatal errors: 0x800.');
  });

  it('fails for another static region also after discoveries that have seen it', async () => {
    host.host.tree.write(engineFile('bitstream_id'), '0x666\n');
    await host.discover();
    const reason = `The static region of ${address} is 0x666, and was ${staticRegion}.`;
    await expect(host.clean(address)).rejects.toThrow(reason);
    await host.start(whole);
    await expect(host.clean(address)).rejects.toThrow(reason);
  });

  it('takes the static region of a card that was out of the settings as it is', async () => {
    await host.start({ cards: ['0000:5f:00.0'] });
    host.host.tree.write(engineFile('bitstream_id'), '0x666\n');
    await host.start(whole);
    expect(await host.clean(address)).toMatchObject({ static_region: '0x666' });
  });

  it('fails if a guest has replaced the static region', async () => {
    host.kernel.bind(address, 'vfio-pci');
    await host.discover();
    host.kernel.bind(address, 'dfl-pci');
    host.host.tree.write(engineFile('bitstream_id'), '0x666\n');
    await expect(host.clean(address)).rejects.toThrow(
      `The static region of ${address} is 0x666, and was ${staticRegion}.`,
    );
  });

  it('resets the port where the image may stay', async () => {
    await host.start({ ...whole, ...keeping });
    await host.write();
    expect(await host.clean(address)).toMatchObject({
      cleaned_by: 'port reset',
      function: aFunction,
    });
    expect(host.kernel.ran.at(-1)).toBe('dfl-reset /dev/dfl-port.0');
    expect((await host.region())?.['bitstream-id']).toBe(imageId);
  });
});
