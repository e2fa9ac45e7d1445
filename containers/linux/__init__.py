"""What the embedded engine asks of the kernel: namespaces, credentials, filters, control groups."""
