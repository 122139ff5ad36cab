import { describe, expect, it } from 'vitest';
import { intelFpgaSettings } from '#agent/drivers/intel-fpga/settings.ts';

const card = '0000:5e:00.0';
const id = '9926AB6D-6c92-5a68-aabc-a7d84c545738';

describe('settings of driver intel_fpga', () => {
  it('need the address of a card alone', () => {
    expect(intelFpgaSettings.parse({ cards: ['00000000:5E:00.0'] })).toMatchObject({
      cards: [{ addresses: [card], virtual_functions: true, bind_to: 'vfio-pci' }],
      ...{ clean: 'blank', fpgaconf: '/usr/bin/fpgaconf' },
    });
  });

  it('have blank images by the interface, in lower case', () => {
    const { blank_images: images } = intelFpgaSettings.parse({
      cards: [card],
      blank_images: { [id]: '/usr/share/fpga/blank.gbs' },
    });
    expect([...images]).toEqual([[id.toLowerCase(), '/usr/share/fpga/blank.gbs']]);
  });

  it.each([
    [{}, 'must list the cards'],
    [{ cards: [] }, 'must list the cards'],
    [{ cards: ['5e:00'] }, 'must be a PCI address, such as "0000:3b:00.0"'],
    [{ cards: [card, card] }, 'must not name a card more than once'],
    [{ cards: [{ addresses: card, bind_to: 'dfl-pci' }] }, 'must be a VFIO driver'],
    [{ cards: [{ addresses: card, virtual_functions: 2 }] }, 'must be true or false'],
    [{ cards: [card], clean: 'wipe' }, 'must be one of blank, reset, none'],
    [{ cards: [card], clean: 'reset' }, 'allow this by data_may_stay, or choose blank'],
    [{ cards: [card], blank_images: { x: '/blank' } }, 'must have interface uuids as keys'],
    [{ cards: [card], blank_images: { [id]: 'blank.gbs' } }, 'must be an absolute path'],
    [{ cards: [card], fpgaconf: '/usr/../fpgaconf' }, 'must not go up'],
    [{ cards: [card], firmware: 1 }, 'firmware'],
  ])('%j are refused: %s', (given, message) => {
    const { error } = intelFpgaSettings.safeParse(given);
    expect(error?.issues.map((each) => each.message).join()).toContain(message);
  });
});
