import { Screen } from '../parts/screen.tsx';

export function CapacityScreen() {
  return <Screen title="Capacity">Later.</Screen>;
}
