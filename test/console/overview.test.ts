import { describe, expect, it } from 'vitest';
import type { CapacitySum } from '#console/capacity/capacity-sum.ts';
import {
  bindsByHour,
  classesOf,
  dayBefore,
  modelsOf,
  reasonsOf,
  totalOf,
  useByProject,
  useOf,
} from '#console/overview/fleet-use.ts';

const gpus: CapacitySum = {
  fits: 3,
  stoppedBy: [
    { reason: 'claimed', count: 5 },
    { reason: 'disabled', count: 2 },
  ],
};
const boards: CapacitySum = { fits: 1, stoppedBy: [{ reason: 'disabled', count: 4 }] };

describe('the overview', () => {
  it('has each accelerator once: in use, free or out of service', () => {
    expect(useOf(gpus)).toEqual({ inUse: 5, free: 3, outOfService: 2, all: 10 });
    expect(totalOf([useOf(gpus), useOf(boards)])).toEqual({
      inUse: 5,
      free: 4,
      outOfService: 6,
      all: 15,
    });
  });

  it('names why accelerators are out of service, and not that they are in use', () => {
    expect(reasonsOf([gpus, boards])).toEqual([{ reason: 'disabled', count: 6 }]);
  });

  it('asks for each class of any profile once', () => {
    const fpga = { groups: [{ 'resources:FPGA': '2', 'trait:CUSTOM_A': 'required' }] };
    const both = { groups: [{ 'resources:VGPU': '1' }, { 'resources:FPGA': '1' }] };
    expect(classesOf([both, fpga])).toEqual(['FPGA', 'VGPU']);
  });

  it('averages the use of a project over the time that was counted', () => {
    const row = { resource_class: 'FPGA', day: '2026-11-23' };
    const usage = [
      { ...row, project_id: 'small', accelerator_seconds: 1800 },
      { ...row, project_id: 'large', accelerator_seconds: 3600 },
      { ...row, project_id: 'large', resource_class: 'VGPU', accelerator_seconds: 7200 },
    ];
    const range = { from: '2026-11-23T01:00:00.000Z', to: '2026-11-23T02:00:00.000Z' };
    expect(useByProject({ ...range, usage })).toEqual([
      { projectId: 'large', accelerators: 3 },
      { projectId: 'small', accelerators: 0.5 },
    ]);
  });

  it('has the means of the days by model, and counts no project twice', () => {
    const row = { model: 'a:1', project_id: null, devices: 2, healthy: 1, handles: 8, reserved: 2 };
    const ofProject = { devices: null, healthy: null, handles: null, reserved: null };
    const report = [
      { ...row, day: '2026-11-23', in_use: 3 },
      { ...row, day: '2026-11-23', ...ofProject, project_id: 'p', in_use: 3 },
      { ...row, day: '2026-11-24', in_use: 4 },
      { ...row, day: '2026-11-24', model: 'b:2', handles: 20, in_use: 1 },
    ];
    expect(modelsOf(report)).toEqual([
      { model: 'b:2', devices: 1, healthy: 0.5, handles: 10, reserved: 1, inUse: 0.5 },
      { model: 'a:1', devices: 2, healthy: 1, handles: 8, reserved: 2, inUse: 3.5 },
    ]);
    expect(modelsOf([])).toEqual([]);
  });

  it('has the binds of 24 hours, of which the last one goes on', () => {
    const from = dayBefore(Date.parse('2026-11-23T10:20:00Z'));
    expect(from).toBe('2026-11-22T11:00:00.000Z');
    const binds = [
      { hour: '2026-11-23T10:00:00.000Z', bound: 2, failed: 1 },
      { hour: '2026-11-22T11:00:00.000Z', bound: 5, failed: 0 },
      { hour: '2026-11-22T10:00:00.000Z', bound: 9, failed: 9 },
    ];
    const { days, series } = bindsByHour(binds, from);
    expect([days.length, days[0], days.at(-1)]).toEqual([
      ...[24, '2026-11-22 11:00', '2026-11-23 10:00'],
    ]);
    expect(series.map(({ name, hours, total }) => [name, hours[0], hours.at(-1), total])).toEqual([
      ['bound', 5, 2, 7],
      ['failed', 0, 1, 1],
    ]);
  });
});
