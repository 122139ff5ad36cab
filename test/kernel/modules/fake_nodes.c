// SPDX-License-Identifier: GPL-2.0
/*
 * fake_nodes: character devices under the names that vendors' drivers give them.
 *
 *   modprobe fake_nodes drivers=neuron:1d0f,mlx5_core:15b3 \
 *     nodes=neuron0@neuron,vhost-vdpa-0@vhost-vdpa@0001:00:01.0@vdpa0
 *
 * A driver is NAME:VENDOR, and binds all functions of the vendor.
 *
 * A node is NAME@CLASS[@FUNCTION[@BETWEEN]]: in sysfs it is below the function,
 * or below a device between them, or without a parent. A ! in its name is a /
 * in /dev. A program can open it, and do nothing else with it.
 */
#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/pci.h>

#define MANY	32
#define NAME	31

static char *drivers[MANY];
static int drivers_count;
module_param_array(drivers, charp, &drivers_count, 0444);
static char *nodes[MANY];
static int nodes_count;
module_param_array(nodes, charp, &nodes_count, 0444);

static struct binding {
	struct pci_driver driver;
	struct pci_device_id ids[2];
	char name[NAME + 1];
} bindings[MANY];

static struct class *classes[MANY];
static dev_t first;
static struct cdev cdev;
static const struct file_operations operations = { .owner = THIS_MODULE };

static int probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	return 0;
}

static int add_driver(struct binding *b, const char *text)
{
	unsigned int vendor;

	if (sscanf(text, "%31[^:]:%x", b->name, &vendor) != 2)
		return -EINVAL;
	b->ids[0] = (struct pci_device_id) {
		.vendor = vendor, .device = PCI_ANY_ID,
		.subvendor = PCI_ANY_ID, .subdevice = PCI_ANY_ID,
	};
	b->driver = (struct pci_driver) { .name = b->name, .id_table = b->ids, .probe = probe };
	return __pci_register_driver(&b->driver, THIS_MODULE, b->name);
}

static struct class *class_of(const char *name)
{
	int i;

	for (i = 0; i < MANY && classes[i]; i++)
		if (!strcmp(classes[i]->name, name))
			return classes[i];
	if (i == MANY)
		return ERR_PTR(-ENOSPC);
	classes[i] = class_create(THIS_MODULE, kstrdup(name, GFP_KERNEL));
	return classes[i];
}

static struct device *parent_of(const char *text, const char *between)
{
	unsigned int domain, bus, slot, fn;
	struct pci_dev *pdev;

	if (!*text)
		return NULL;
	if (sscanf(text, "%x:%x:%x.%x", &domain, &bus, &slot, &fn) != 4)
		return ERR_PTR(-EINVAL);
	pdev = pci_get_domain_bus_and_slot(domain, bus, PCI_DEVFN(slot, fn));
	if (!pdev)
		return ERR_PTR(-ENODEV);
	if (!*between)
		return &pdev->dev;
	return device_create(class_of("fake_nodes"), &pdev->dev, 0, NULL, "%s", between);
}

static int add_node(int minor, const char *text)
{
	char name[NAME + 1], class[NAME + 1], function[NAME + 1] = "", between[NAME + 1] = "";
	struct device *parent;
	struct class *of;

	if (sscanf(text, "%31[^@]@%31[^@]@%31[^@]@%31s", name, class, function, between) < 2)
		return -EINVAL;
	parent = parent_of(function, between);
	if (IS_ERR(parent))
		return PTR_ERR(parent);
	of = class_of(class);
	if (IS_ERR(of))
		return PTR_ERR(of);
	return PTR_ERR_OR_ZERO(device_create(of, parent, first + minor, NULL, "%s", name));
}

/* Nothing is undone: the VM ends with its scenarios. */
static int __init fake_nodes_init(void)
{
	int i, err;

	err = alloc_chrdev_region(&first, 0, MANY, KBUILD_MODNAME);
	if (err)
		return err;
	cdev_init(&cdev, &operations);
	err = cdev_add(&cdev, first, MANY);
	for (i = 0; !err && i < drivers_count; i++)
		err = add_driver(&bindings[i], drivers[i]);
	for (i = 0; !err && i < nodes_count; i++)
		err = add_node(i, nodes[i]);
	if (err)
		panic("%s: cannot be set up: %d", KBUILD_MODNAME, err);
	return 0;
}
module_init(fake_nodes_init);

MODULE_DESCRIPTION("Character devices under the names of vendors' drivers");
MODULE_LICENSE("GPL");
