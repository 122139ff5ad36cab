import { describe, expect, it } from 'vitest';
import { intelFpgaSettings } from '#agent/drivers/intel-fpga/settings.ts';

const card = '0000:5e:00.0';
const id = '9926AB6D-6c92-5a68-aabc-a7d84c545738';

describe('settings of driver intel_fpga', () => {
  it('need the address of a card alone', () => {
    expect(intelFpgaSettings.parse({ cards: ['00000000:5E:00.0'] })).toMatchObject({
      cards: [{ addresses: [card], virtual_functions: true, bind_to: 'vfio-pci' }],
      clean: 'blank',
      fpgaconf: '/usr/bin/fpgaconf',
    });
  });

  it('have blank images by the interface, in lower case', () => {
    const { blank_images: images } = intelFpgaSettings.parse({
      cards: [card],
      blank_images: { [id]: '/usr/share/fpga/blank.gbs' },
    });
    expect([...images]).toEqual([[id.toLowerCase(), '/usr/share/fpga/blank.gbs']]);
  });
});
