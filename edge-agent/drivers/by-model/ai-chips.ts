// AI processors that driver `ai_chip` knows: data only. A model whose ids have no public source
// is not here; an operator adds it in the settings, in the same form.

import type { GivenRow, ModelTable } from './rows.ts';

/** https://pci-ids.ucw.cz */
const pciIds = 'pci.ids 2026.08.22';
/** Ids of physical functions in the scripts of the driver's package, by the chip's name. */
const cannDriver = 'Huawei, CANN driver, scripts of the package';
const habanalabs = 'Linux, drivers/accel/habanalabs/common/habanalabs_drv.c';
const neuronDriver = 'AWS, aws-neuron-driver, neuron_pci.h';

/** Cyborg's huawei_ascend_driver knows d100 alone, and reports neither class nor traits. */
const ascend = {
  vendor_id: '19e5',
  // HiSilicon's ZIP engine and others have the class, too: the product ids tell them apart.
  class: '12',
  traits: ['CUSTOM_AICHIP_HUAWEI'],
};
const habana = { vendor_id: '1da3', class: '12', traits: ['CUSTOM_AICHIP_HABANA'] };
/** Class 0880 on a Trainium, and not published for the others: the ids are enough. */
const neuron = { vendor_id: '1d0f', traits: ['CUSTOM_AICHIP_AMAZON'] };
const amd = { vendor_id: '1002', traits: ['CUSTOM_AICHIP_AMD'], source: pciIds };
const cambricon = { vendor_id: 'cabc', traits: ['CUSTOM_AICHIP_CAMBRICON'], source: pciIds };
const kunlun = { vendor_id: '1d22', traits: ['CUSTOM_AICHIP_BAIDU'], source: pciIds };

const rows: readonly GivenRow[] = [
  {
    ...{ ...ascend, name: 'Ascend 310', product_ids: ['d100'] },
    ...{
      resource_class: 'CUSTOM_ASCEND_310',
      source: `Cyborg, huawei_ascend_driver; ${cannDriver}`,
    },
  },
  {
    ...{ ...ascend, name: 'Ascend 310P', product_ids: ['d500'] },
    ...{ resource_class: 'CUSTOM_ASCEND_310P', source: cannDriver },
  },
  {
    ...{ ...ascend, name: 'Ascend 910', product_ids: ['d801'] },
    ...{ resource_class: 'CUSTOM_ASCEND_910', source: cannDriver },
  },
  {
    ...{ ...ascend, name: 'Ascend 910B', product_ids: ['d802'] },
    ...{ resource_class: 'CUSTOM_ASCEND_910B', source: cannDriver },
  },
  {
    ...{ ...ascend, name: 'Ascend 910_93', product_ids: ['d803'] },
    ...{ resource_class: 'CUSTOM_ASCEND_910_93', source: cannDriver },
  },
  {
    ...{ ...habana, name: 'Goya', product_ids: ['0001'] },
    ...{ resource_class: 'CUSTOM_GOYA', source: `${pciIds}; ${habanalabs}` },
  },
  {
    // 1010 is the secured variant.
    ...{ ...habana, name: 'Gaudi', product_ids: ['1000', '1010'] },
    ...{ resource_class: 'CUSTOM_GAUDI', source: `${pciIds}; ${habanalabs}` },
  },
  {
    ...{ ...habana, name: 'Gaudi2', product_ids: ['1020'] },
    ...{ resource_class: 'CUSTOM_GAUDI2', source: `${pciIds}; ${habanalabs}` },
  },
  {
    // 1063 is the add-in card.
    ...{ ...habana, name: 'Gaudi3', product_ids: ['1060', '1063'] },
    ...{ resource_class: 'CUSTOM_GAUDI3', source: pciIds },
  },
  {
    ...{ ...neuron, name: 'Inferentia', product_ids: ['7064', '7065', '7066', '7067'] },
    ...{ resource_class: 'CUSTOM_INFERENTIA', source: neuronDriver },
  },
  {
    ...{ ...neuron, name: 'Inferentia2', product_ids: ['7264'] },
    ...{ resource_class: 'CUSTOM_INFERENTIA2', source: `${pciIds}; ${neuronDriver}` },
  },
  {
    ...{ ...neuron, name: 'Trainium', product_ids: ['7164'] },
    ...{ resource_class: 'CUSTOM_TRAINIUM', source: `${pciIds}; ${neuronDriver}` },
  },
  {
    ...{ ...neuron, name: 'Trainium2', product_ids: ['7364'] },
    ...{ resource_class: 'CUSTOM_TRAINIUM2', source: `${pciIds}; ${neuronDriver}` },
  },
  {
    ...{ ...neuron, name: 'Trainium3', product_ids: ['7564', '7565'] },
    ...{ resource_class: 'CUSTOM_TRAINIUM3', source: pciIds },
  },
  { ...amd, name: 'MI300X', product_ids: ['74a1'], resource_class: 'CUSTOM_MI300X' },
  { ...amd, name: 'MI308X', product_ids: ['74a2'], resource_class: 'CUSTOM_MI308X' },
  { ...amd, name: 'MI325X', product_ids: ['74a5'], resource_class: 'CUSTOM_MI325X' },
  {
    // A class of its own: a virtual function may be a part of the card.
    ...{ ...amd, name: 'MI300X VF', product_ids: ['74b5'], function: 'virtual' },
    resource_class: 'CUSTOM_MI300X_VF',
  },
  {
    ...{ ...amd, name: 'MI325X VF', product_ids: ['74b9'], function: 'virtual' },
    resource_class: 'CUSTOM_MI325X_VF',
  },
  { ...cambricon, name: 'MLU270', product_ids: ['0270'], resource_class: 'CUSTOM_MLU270' },
  { ...cambricon, name: 'MLU370', product_ids: ['0370'], resource_class: 'CUSTOM_MLU370' },
  { ...kunlun, name: 'Kunlun', product_ids: ['3684'], resource_class: 'CUSTOM_KUNLUN' },
  {
    ...{ ...kunlun, name: 'Kunlun2 VF', product_ids: ['3685'], function: 'virtual' },
    resource_class: 'CUSTOM_KUNLUN2_VF',
  },
];

export const aiChips: ModelTable = { driver: 'ai_chip', type: 'AICHIP', rows };
