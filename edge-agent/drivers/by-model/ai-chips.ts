// AI processors that driver `ai_chip` knows: data only. A model whose ids have no public source
// is not here; an operator adds it in the settings, in the same form.

import type { GivenRow, ModelTable } from './rows.ts';

/** https://pci-ids.ucw.cz */
const pciIds = 'pci.ids 2026.08.22';
const neuronDriver = 'AWS, aws-neuron-driver, neuron_pci.h';

type Vendor = Pick<GivenRow, 'vendor_id' | 'class' | 'traits' | 'source'>;

/** Cyborg's huawei_ascend_driver knows d100 alone, and reports neither class nor traits. */
const ascend: Vendor = {
  vendor_id: '19e5',
  // HiSilicon's ZIP engine and others have the class, too, but not the product ids.
  class: '12',
  traits: ['CUSTOM_AICHIP_HUAWEI'],
  // It names the ids of physical functions by the chip's name.
  source: 'Huawei, CANN driver, scripts of the package',
};
const habana: Vendor = {
  vendor_id: '1da3',
  class: '12',
  traits: ['CUSTOM_AICHIP_HABANA'],
  source: `${pciIds}; Linux, drivers/accel/habanalabs/common/habanalabs_drv.c`,
};
/** Class 0880 on a Trainium, and not published for the others: the ids are enough. */
const neuron: Vendor = {
  vendor_id: '1d0f',
  traits: ['CUSTOM_AICHIP_AMAZON'],
  source: `${pciIds}; ${neuronDriver}`,
};
const amd: Vendor = { vendor_id: '1002', traits: ['CUSTOM_AICHIP_AMD'], source: pciIds };
const cambricon: Vendor = {
  vendor_id: 'cabc',
  traits: ['CUSTOM_AICHIP_CAMBRICON'],
  source: pciIds,
};
/** Class 0880. */
const edgeTpu: Vendor = { vendor_id: '1ac1', traits: ['CUSTOM_AICHIP_GOOGLE'], source: pciIds };
const kunlun: Vendor = { vendor_id: '1d22', traits: ['CUSTOM_AICHIP_BAIDU'], source: pciIds };

/** The resource class has the model's name: `CUSTOM_ASCEND_310` for `Ascend 310`. */
function model(vendor: Vendor, name: string, ...product_ids: string[]): GivenRow {
  const resource_class = `CUSTOM_${name.toUpperCase().replace(' ', '_')}`;
  return { ...vendor, name, product_ids, resource_class };
}

/** Its resource class is its own, because a virtual function may be a part of the card. */
function virtualFunction(vendor: Vendor, name: string, productId: string): GivenRow {
  return { ...model(vendor, `${name} VF`, productId), function: 'virtual' };
}

const rows: readonly GivenRow[] = [
  {
    ...model(ascend, 'Ascend 310', 'd100'),
    source: `Cyborg, huawei_ascend_driver; ${ascend.source}`,
  },
  model(ascend, 'Ascend 310P', 'd500'),
  model(ascend, 'Ascend 910', 'd801'),
  model(ascend, 'Ascend 910B', 'd802'),
  model(ascend, 'Ascend 910_93', 'd803'),
  model(habana, 'Goya', '0001'),
  // 1010 is the secured variant.
  model(habana, 'Gaudi', '1000', '1010'),
  // 1021 is the add-in card, Gaudi2E: the vendor's manual of 2026.
  model(habana, 'Gaudi2', '1020', '1021'),
  // 1063 is the add-in card.
  { ...model(habana, 'Gaudi3', '1060', '1063'), source: pciIds },
  { ...model(neuron, 'Inferentia', '7064', '7065', '7066', '7067'), source: neuronDriver },
  model(neuron, 'Inferentia2', '7264'),
  model(neuron, 'Trainium', '7164'),
  model(neuron, 'Trainium2', '7364'),
  { ...model(neuron, 'Trainium3', '7564', '7565'), source: pciIds },
  model(amd, 'MI210', '740f'),
  model(amd, 'MI300A', '74a0'),
  model(amd, 'MI300X', '74a1'),
  model(amd, 'MI308X', '74a2'),
  model(amd, 'MI325X', '74a5'),
  model(amd, 'MI350X', '75a0'),
  model(amd, 'MI355X', '75a3'),
  virtualFunction(amd, 'MI300X', '74b5'),
  virtualFunction(amd, 'MI325X', '74b9'),
  model(cambricon, 'MLU270', '0270'),
  model(cambricon, 'MLU370', '0370'),
  model(edgeTpu, 'Edge TPU', '089a'),
  model(kunlun, 'Kunlun', '3684'),
  virtualFunction(kunlun, 'Kunlun2', '3685'),
];

export const aiChips: ModelTable = { driver: 'ai_chip', type: 'AICHIP', rows };
