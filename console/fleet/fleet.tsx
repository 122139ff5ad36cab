import { Screen } from '../parts/screen.tsx';

export function FleetScreen() {
  return <Screen title="Fleet">Later.</Screen>;
}
