import { expect, it } from 'vitest';
import { deviceType } from '#agent/drivers/pci/naming/ids.ts';
import { modelNames } from '#agent/drivers/pci/naming/model-names.ts';
import { modelName } from '#agent/drivers/pci/naming/names.ts';
import { aPciFunction } from '#test/support/hosts/agent.ts';

it.each([
  ['1002', '740f', 'AMD Instinct MI210'],
  ['1002', '74a0', 'AMD Instinct MI300A'],
  ['1002', '74a8', 'AMD Instinct MI308X'],
  ['1002', '75a0', 'AMD Instinct MI350X'],
  ['1002', '75a3', 'AMD Instinct MI355X'],
  ['10de', '31c2', 'NVIDIA GB300'],
  ['10ee', '5004', 'Xilinx Alveo U250 XDMA Platform'],
  ['15b3', 'a2d6', 'NVIDIA MT42822 BlueField-2 integrated ConnectX-6 Dx network controller'],
  ['8086', '0b2b', 'Intel FPGA PAC D5005'],
  ['8086', '674c', 'Intel Crescent Island'],
  ['8086', 'e223', 'Intel Arc Pro B70'],
  ['10de', '0000', undefined],
  ['toString', '0000', undefined],
])('the model of %s:%s is %s', (vendorId, productId, name) => {
  expect(modelName({ vendorId, productId })).toBe(name);
});

it('the names of models are plain, in the order of their ids, and each id has one', () => {
  for (const text of Object.values(modelNames)) {
    const [shown, ...lines] = text.split('\n');
    expect(shown).toMatch(/^[A-Z]\w+$/);
    for (const line of lines) expect(line).toMatch(/^[0-9a-f]{4} [!-~]([ -~]{0,98}[!-~])$/);
    const ids = lines.map((line) => line.slice(0, 4));
    expect(ids).toEqual([...new Set(ids)].sort());
  }
});

it.each([
  ['a D5005, among other accelerators of Intel', '8086', '0b2b', '120000', 'FPGA'],
  ["the N3000's error correction", '8086', '0d8f', '120000', 'FPGA'],
  ['vRAN Boost', '8086', '57c0', '120000', 'COPROCESSOR'],
  ['the virtio function of an OFS card', '1af4', '1000', '120000', 'NIC'],
  ['an Edge TPU, whose class has no type', '1ac1', '089a', '088000', 'AICHIP'],
  ['any accelerator of Xilinx', '10ee', '5004', '120000', 'FPGA'],
  ['an SSD of a vendor of FPGAs', '1bd4', '1001', '010802', 'SSD'],
  ['what its class says', '1002', '740f', '038000', 'GPU'],
  ['nothing, if neither id nor class has a type', '8086', '2024', '088000', undefined],
] as const)('%s, %s:%s of class %s, is %s', (_, vendorId, productId, classCode, type) => {
  expect(deviceType(aPciFunction({ vendorId, productId, classCode }))).toBe(type);
});
