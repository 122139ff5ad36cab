import { describe, expect, it } from 'vitest';
import { matches, pciAllowList } from '#agent/drivers/pci/allow-list.ts';
import { aPciFunction } from '#test/support/hosts/agent.ts';

const gpu = aPciFunction({
  address: '0000:0a:00.1',
  vendorId: '10de',
  productId: '2235',
  classCode: '030200',
});

function entryOf(given: object) {
  const [entry] = pciAllowList.parse(given);
  if (!entry) throw new Error('no entry');
  return entry;
}

describe('an entry of the allow-list', () => {
  it.each([
    { vendor_id: '10de' },
    { vendor_id: '0x10DE', product_id: '2235' },
    { vendor_id: '*', product_id: '2235' },
    { class: '03' },
    { class: '0x0302' },
    { class: '030200' },
    { address: '0000:0a:00.1' },
    { address: '00000000:0A:00.1' },
    { address: '*:0a:00.*' },
    { address: '0a:00.1' },
    { address: '0a:00' },
    { address: ':0a:*.1' },
    { address: '0:a:0.1' },
    { vendor_id: '10de', address: '*:0a:*.*' },
  ])('%j matches', (given) => {
    expect(matches(entryOf(given), gpu)).toBe(true);
  });

  it.each([
    { vendor_id: '10df' },
    { vendor_id: '10de', product_id: '2236' },
    { class: '0300' },
    { address: '0000:0a:00.0' },
    { address: '10000:0a:00.1' },
    { address: '*:0b:00.*' },
    { vendor_id: '8086', address: '0000:0a:00.1' },
  ])('%j does not match', (given) => {
    expect(matches(entryOf(given), gpu)).toBe(false);
  });

  it('includes the virtual functions of its address', () => {
    const physical = aPciFunction({ address: '0000:0a:00.0' });
    expect(matches(entryOf({ address: '0000:0a:00.0' }), gpu, physical)).toBe(true);
    expect(matches(entryOf({ address: '0000:0a:00.2' }), gpu, physical)).toBe(false);
  });

  it.each([
    [{}, 'must narrow'],
    [{ vendor_id: '*' }, 'must narrow'],
    [{ address: '*:*:*.*' }, 'must narrow'],
    [{ vendor_id: '10d' }, 'four hexadecimal digits'],
    [{ vendor_id: 8086 }, 'string'],
    [{ address: '.*' }, 'PCI address'],
    [{ address: '0a:20.9' }, 'PCI address'],
    [{ class: '3' }, 'class code'],
    [{ vendor_id: '10de', device_type: 'tpu' }, 'GPU'],
    [{ vendor_id: '10de', resource_class: 'VCPU' }, 'must be FPGA, PGPU or CUSTOM_'],
    [{ vendor_id: '10de', traits: ['HW_GPU'] }, 'must be CUSTOM_ and capital letters'],
    [{ vendor_id: '10de', devname: 'eth0' }, 'devname'],
    [{ vendor_id: '10de', virtual_functions: 0 }, 'must be true, false or a number from 1'],
    [{ vendor_id: '10de', virtual_functions: '4' }, 'must be true, false or a number from 1'],
    [{ vendor_id: '10de', bind_to: '../nvme' }, 'must be a VFIO driver, such as vfio-pci'],
    [{ vendor_id: '10de', bind_to: 'nvme' }, 'must be a VFIO driver, such as vfio-pci'],
    [{ vendor_id: '10de', clean: 'sanitise' }, 'must be none or reset'],
  ])('%j is refused', (given, reason) => {
    const parsed = pciAllowList.safeParse([given]);
    expect(parsed.error?.message).toContain(reason);
  });
});
