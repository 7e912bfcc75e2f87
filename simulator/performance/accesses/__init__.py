"""The performance model of one access: requests, sectors and bank conflicts."""
