import { describe, expect, it } from 'vitest';
import { readPciFunctions } from '#agent/sysfs/pci.ts';
import { aGuardedHost } from '#test/support/hosts/guarded-host.ts';
import { perTest } from '#test/support/vitest/shared.ts';

const address = '0000:c1:00.0';
const host = perTest(aGuardedHost);
interface Given {
  readonly driver?: string;
  readonly bootVga?: string;
  readonly ids?: { readonly vendor: string; readonly product: string };
}

function addDisplay({ driver = 'amdgpu', bootVga, ids }: Given): void {
  const display = { address, iommuGroup: 12, classCode: '030000', vendor: '1002', driver, ...ids };
  host.tree.addFunction(display);
  host.addEntry('class/drm/card0', address, 'drm/card0');
  if (bootVga) host.tree.write(`${host.tree.pathOf(address)}/boot_vga`, `${bootVga}\n`);
}

/** A framebuffer of the firmware: it has no PCI device. */
function addFirmwareScreen(): void {
  host.tree.write('devices/platform/efi-framebuffer.0/graphics/fb0/name', 'EFI VGA\n');
  host.tree.link('class/graphics/fb0', 'devices/platform/efi-framebuffer.0/graphics/fb0');
}

const check = () => host.check(address);

describe('a display of the host', () => {
  const isBoot = 'is the display that the host has booted with: its boot_vga is 1';

  it('is refused if the host has booted with it', async () => {
    addDisplay({ bootVga: '1' });
    expect(await check()).toBe(isBoot);
    expect(await host.recheck(address)).toBe(isBoot);
    const all = readPciFunctions(host.sysfs, () => {});
    expect(await (await host.guards()).heldBy(all, true)).toEqual(new Map([[address, isBoot]]));
  });

  it('may be offered if it is another', async () => {
    addDisplay({ bootVga: '0' });
    addFirmwareScreen();
    expect(await check()).toBeUndefined();
  });

  it('is refused while it has a framebuffer', async () => {
    addDisplay({ bootVga: '0' });
    host.addEntry('class/graphics/fb1', address, 'graphics/fb1');
    expect(await check()).toBe('drives a screen of the host: fb1');
  });

  it('is refused while another one has a framebuffer only if it has one, too', async () => {
    addDisplay({ bootVga: '0' });
    host.tree.addFunction({ address: '0000:c2:00.0', classCode: '030000' });
    host.addEntry('class/graphics/fb0', '0000:c2:00.0', 'graphics/fb0');
    expect(await check()).toBeUndefined();
  });

  it('may be offered on the driver of VFIO, on a host without a screen', async () => {
    addDisplay({ driver: 'vfio-pci', bootVga: '1' });
    expect(await check()).toBeUndefined();
  });

  it("is refused on the driver of VFIO while the firmware's framebuffer is in it", async () => {
    addDisplay({ driver: 'vfio-pci', bootVga: '1' });
    addFirmwareScreen();
    expect(await check()).toBe('drives a screen of the host: fb0');
  });

  it.each([
    ['1a03', '2000'],
    ['102b', '0536'],
    ['19e5', '1711'],
  ])(
    'is refused on every driver if it is of a management controller: %s:%s',
    async (vendor, product) => {
      addDisplay({ driver: 'vfio-pci', bootVga: '0', ids: { vendor, product } });
      expect(await check()).toBe("is the display of the host's management controller");
    },
  );
});
